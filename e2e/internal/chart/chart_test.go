package chart

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
)

// element is one element of a drawing, with the text in it.
type element struct {
	name  string
	attrs map[string]string
	text  string
}

func parse(t *testing.T, svg []byte) (list []element) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatalf("the drawing isn't XML: %v\n%s", err, svg)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local, attrs: map[string]string{}}
			for _, a := range token.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			list = append(list, e)
		case xml.CharData:
			if s := strings.TrimSpace(string(token)); s != "" {
				list[len(list)-1].text += s
			}
		}
	}
}

func TestBars(t *testing.T) {
	svg := SVG(Bars{Title: "wall time", Groups: []Group{
		{"a <kernel> & more", []Bar{{"8 s", 8}, {"2 s", 2}}},
		{"an object", []Bar{{"4 ms", 0.004}, {"0 ms", 0}}},
	}})
	var widths []float64
	var texts []string
	for _, e := range parse(t, svg) {
		if e.name == "rect" && e.attrs["fill"] != "#ffffff" {
			w, _ := strconv.ParseFloat(e.attrs["width"], 64)
			widths = append(widths, w/barLength)
		}
		if e.name == "text" {
			texts = append(texts, e.text)
		}
	}
	want := []float64{1, 0.25, 1, 0}
	if len(widths) != len(want) {
		t.Fatalf("%d bars, want %d", len(widths), len(want))
	}
	for i := range want {
		if math.Abs(widths[i]-want[i]) > 0.01 {
			t.Errorf("bar %d is %.2f of the longest, want %.2f", i, widths[i], want[i])
		}
	}
	if got, want := strings.Join(texts,
		"|"), "wall time|a <kernel> & more|8 s|2 s|an object|4 ms|0 ms"; got != want {
		t.Errorf("texts are %q, want %q", got, want)
	}
}

// TestCurves looks for the places of marks: a value of half the axis lies half as high.
func TestCurves(t *testing.T) {
	svg := SVG(Curves{Title: "time", X: "MB", Y: "s", Curves: []Curve{
		{Name: "ours", Points: []Point{{50, 1}, {100, 2}}},
		{Name: "straight", Points: []Point{{0, 0}, {100, 2}}, Dashed: true},
	}})
	var marks [][2]string
	for _, e := range parse(t, svg) {
		if e.name == "circle" {
			marks = append(marks, [2]string{e.attrs["cx"], e.attrs["cy"]})
		}
	}
	place := func(x, y float64) [2]string { return [2]string{number(x), number(y)} }
	want := [][2]string{
		place(plotLeft+plotWidth/2, plotTop+plotHeight/2), place(plotLeft+plotWidth, plotTop),
		place(plotLeft+12, legendTop), // the legend's
	}
	if len(marks) != len(want) {
		t.Fatalf("%d marks, want %d", len(marks), len(want))
	}
	for i := range want {
		if marks[i] != want[i] {
			t.Errorf("mark %d is at %v, want %v", i, marks[i], want[i])
		}
	}
}

// TestLogarithmicAxes: each tenfold is as long as any other.
func TestLogarithmicAxes(t *testing.T) {
	svg := SVG(Curves{Log: true, Curves: []Curve{{Name: "one over x",
		Points: []Point{{1, 1000}, {10, 100}, {100, 10}, {1000, 1}}}}})
	var marks, texts []string
	for _, e := range parse(t, svg) {
		switch e.name {
		case "circle":
			marks = append(marks, e.attrs["cx"]+" "+e.attrs["cy"])
		case "text":
			texts = append(texts, e.text)
		}
	}
	for i, mark := range marks[:4] {
		if want := number(plotLeft+plotWidth*float64(i)/3) + " " +
			number(plotTop+plotHeight*float64(i)/3); mark != want {
			t.Errorf("mark %d is at %s, want %s", i, mark, want)
		}
	}
	if got := strings.Join(texts, " "); !strings.Contains(got, "1 10 100 1000 1 10 100 1000") {
		t.Errorf("the ticks are %s", got)
	}
}

func TestStep(t *testing.T) {
	for most, want := range map[float64]float64{0: 1, 0.8: 0.1, 1: 0.2, 2.4: 0.5, 20: 2, 37: 5, 99: 10,
		math.Inf(1): 1} {
		if got := step(most); math.Abs(got-want) > 1e-9 {
			t.Errorf("step(%v) = %v, want %v", most, got, want)
		}
	}
	for most, want := range map[float64]float64{1: 1, 2.4: 2.5, 263: 300, 1010: 1200} {
		if got := ceil(most); math.Abs(got-want) > 1e-9 {
			t.Errorf("ceil(%v) = %v, want %v", most, got, want)
		}
	}
}
