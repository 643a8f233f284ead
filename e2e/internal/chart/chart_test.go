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
