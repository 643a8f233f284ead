package check

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Row is the verdict on one program for one kernel.
type Row struct {
	Kernel string `json:"kernel"`
	Result
}

// Table has a verdict for each program and kernel.
type Table struct {
	Rows []Row `json:"rows"` // by kernel, then program
}

// Fails reports whether any program fails on any kernel.
func (t *Table) Fails() bool {
	return slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Verdict == Fails })
}

// Write writes the table as text, json or html.
func (t *Table) Write(w io.Writer, format string) error {
	switch format {
	case "json":
		return message.WriteJSON(w, t)
	case "html":
		return t.writeHTML(w)
	}
	return t.writeText(w)
}

func (t *Table) writeText(w io.Writer) error {
	var b bytes.Buffer
	counts := [3]int{}
	for _, r := range t.Rows {
		counts[r.Verdict]++
		fmt.Fprintf(&b, "%-6v  %s  %s\n", r.Verdict, message.Printable(r.Kernel),
			message.Printable(r.Program))
		for _, reason := range r.Reasons {
			word := "missing"
			switch {
			case reason.Fatal:
				word = "fatal"
			case reason.Unchecked:
				word = "unchecked"
			}
			fmt.Fprintf(&b, "        %s: %s: %s\n", word, message.Printable(reason.Wants),
				message.Printable(reason.Why))
		}
	}
	fmt.Fprintf(&b, "%s: %d load, %d load partly, %d fail\n", message.Count(len(t.Rows), "verdict"),
		counts[Loads], counts[Partly], counts[Fails])
	_, err := b.WriteTo(w)
	return err
}

//go:embed table.html
var files embed.FS

// cell is a cell of the HTML table.
type cell struct {
	ID string
	*Row
}

func (t *Table) writeHTML(w io.Writer) error {
	var kernels, programs []string
	cells := map[[2]string]*Row{}
	for i := range t.Rows {
		r := &t.Rows[i]
		if !slices.Contains(kernels, r.Kernel) {
			kernels = append(kernels, r.Kernel)
		}
		if !slices.Contains(programs, r.Program) {
			programs = append(programs, r.Program)
		}
		cells[[2]string{r.Kernel, r.Program}] = r
	}
	type line struct {
		Kernel string
		Cells  []cell
	}
	var lines []line
	for i, k := range kernels {
		l := line{Kernel: k}
		for j, p := range programs {
			l.Cells = append(l.Cells, cell{fmt.Sprintf("c%d-%d", i, j), cells[[2]string{k, p}]})
		}
		lines = append(lines, l)
	}
	page, err := template.ParseFS(files, "table.html") // not at startup: parsing takes 3 ms
	if err != nil {
		return err
	}
	return page.Execute(w, struct {
		Programs []string
		Lines    []line
	}{programs, lines})
}

// Failure is a program that fails on a kernel.
type Failure struct{ Kernel, Program string }

// ReadFailures reads a list of failures: each line has a kernel and a program.
func ReadFailures(path string) ([]Failure, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []Failure
	for i, line := range strings.Split(string(data), "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 0, strings.HasPrefix(words[0], "#"):
		case len(words) == 2:
			list = append(list, Failure{words[0], words[1]})
		default:
			return nil, fmt.Errorf("%s:%d: expected a kernel and a program", path, i+1)
		}
	}
	return list, nil
}

// Compare returns an error that lists the unexpected failures, and the expected failures that don't
// happen.
func (t *Table) Compare(expected []Failure) error {
	var lines []string
	for _, r := range t.Rows {
		f := Failure{r.Kernel, r.Program}
		switch is := slices.Contains(expected, f); {
		case r.Verdict == Fails && !is:
			lines = append(lines, fmt.Sprintf("%s %s fails, which isn't expected", f.Kernel, f.Program))
		case r.Verdict != Fails && is:
			lines = append(lines, fmt.Sprintf("%s %s is expected to fail, but loads; remove it "+
				"from the list", f.Kernel, f.Program))
		}
	}
	for _, f := range expected {
		if !slices.ContainsFunc(t.Rows, func(r Row) bool {
			return r.Kernel == f.Kernel && r.Program == f.Program
		}) {
			lines = append(lines, fmt.Sprintf("%s %s is expected to fail, but wasn't checked", f.Kernel,
				f.Program))
		}
	}
	if lines == nil {
		return nil
	}
	return errors.New(strings.Join(lines, "\n"))
}
