// Command table prints the results of the matrix's kernels as tables in Markdown.
//
//	table CELL=DIR…
//
// DIR is where e2e/matrix/run has built the kernel of that cell.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"github.com/rules-btf/rules_btf/e2e/internal/measure"
	"github.com/rules-btf/rules_btf/e2e/matrix/record"
)

// A row is what is known of one kernel.
type row struct {
	Cell string
	*record.Result
	// What encoding vmlinux and all modules used.
	Ours, Pahole steps
}

// steps is what one program used for a kernel.
type steps struct {
	Vmlinux measure.Run
	Modules measure.Run // the sum of times, and the largest memory
}

func (s *steps) add(file string, r measure.Run) {
	if !strings.HasSuffix(file, ".ko") {
		s.Vmlinux = r
		return
	}
	s.Modules.Wall += r.Wall
	s.Modules.CPU += r.CPU
	s.Modules.Peak = max(s.Modules.Peak, r.Peak)
}

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, cells []string) error {
	var rows []row
	for _, arg := range cells {
		cell, dir, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("%s: want CELL=DIR", arg)
		}
		r := row{Cell: cell}
		var err error
		if r.Result, err = record.ReadResult(dir); err != nil {
			return err
		}
		list, err := record.ReadCalls(filepath.Join(dir, "calls"))
		if err != nil {
			return err
		}
		for _, c := range list {
			r.Ours.add(c.File, c.Ours)
			r.Pahole.add(c.File, c.Pahole)
		}
		rows = append(rows, r)
	}
	return tables.Execute(w, rows)
}

var tables = template.Must(template.New("").Funcs(template.FuncMap{
	"seconds":  func(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()) },
	"megabyte": func(n int64) string { return fmt.Sprintf("%d", n/1e6) },
	"count":    count,
	"join":     func(list []string) string { return strings.Join(list, "; ") },
}).Parse(`| kernel | compiler | vmlinux: names as pahole's | differ, with a reason | ` +
	`modules: names as pahole's | differ, with a reason | .BTF_ids | modules loaded | ` +
	`programs of BPF | the same BTF when built again |
|---|---|--:|--:|--:|--:|--:|--:|--:|---|
{{range .}}| {{with .Release}}{{.}}, {{end}}{{.Cell}} | {{.Compiler}} | {{count .Vmlinux.Equal}} | ` +
	`{{.Vmlinux.Explained}} | {{count .Modules.Equal}} | {{.Modules.Explained}} | {{count .IDs}} | ` +
	`{{len .Loaded}} | {{len .Ran}} | {{with .Rebuilt}}{{join .}}{{else}}–{{end}} |
{{end}}
| seconds of processor time, and MB | vmlinux: pahole | ours | all modules: pahole | ours |
|---|--:|--:|--:|--:|
{{range .}}| {{.Cell}} | {{template "used" .Pahole.Vmlinux}} | {{template "used" .Ours.Vmlinux}} | ` +
	`{{template "used" .Pahole.Modules}} | {{template "used" .Ours.Modules}} |
{{end}}
{{- define "used"}}{{seconds .CPU}} s, {{megabyte .Peak}} MB{{end}}`))

// count writes a number with commas.
func count(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
