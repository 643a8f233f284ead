package render

import (
	"bufio"
	"embed"
	"html/template"
	"io"
	"iter"

	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

//go:embed page.html
var files embed.FS

// item is a difference on the page.
type item struct {
	Title      string
	Compatible bool
	Allowed    bool
	Sentences  []string
	Rows       []Row
	FollowUps  []string
}

// Breaks reports whether the item gets a red dot.
func (i item) Breaks() bool { return !i.Compatible && !i.Allowed }

// Body reports whether there is something below the title.
func (i item) Body() bool { return len(i.Sentences)+len(i.Rows)+len(i.FollowUps) > 0 }

// HTML writes a comparison as a page that needs no other files. The parameters a and b are what the
// page calls the two sides. The parameter kabi is nil unless the kABI was compared.
func HTML(w io.Writer, a, b string, r diff.Result, kabi *KABI) error {
	page, err := template.New("page.html").Funcs(template.FuncMap{
		"cell": func(c *diff.Cell) string { return cell(c, 0) },
	}).ParseFS(files, "page.html") // not at startup: parsing takes 3 ms
	if err != nil {
		return err
	}
	own, followUps := split(r.Differences)
	items := func(yield func(item) bool) { // so that only one at a time is in memory
		for i := range own {
			d := &own[i]
			x := item{Title: Title(d), Compatible: d.Compatible, Allowed: d.Allowed != ""}
			x.Sentences, x.Rows = body(d)
			x.Sentences = append(kabi.notes(d), x.Sentences...)
			for _, f := range followUps[d.Type] {
				x.FollowUps = append(x.FollowUps, followUp(f))
			}
			if !yield(x) {
				return
			}
		}
		for i := range r.Modules {
			if !yield(moduleItem(&r.Modules[i])) {
				return
			}
		}
	}
	modules := ""
	if len(r.Modules) > 0 {
		modules = ModuleCounts(r.Modules)
	}
	out := bufio.NewWriter(w)
	err = page.Execute(out, struct {
		A, B    string
		Modules string
		Same    bool
		Summary diff.Summary
		KABI    *KABI
		Items   iter.Seq[item]
	}{message.Printable(a), message.Printable(b), modules, r.Same(), r.Summary, kabi, items})
	if err != nil {
		return err
	}
	return out.Flush()
}

func moduleItem(m *diff.Module) item {
	x := item{Title: ModuleTitle(m), Compatible: m.Class != diff.OnlyA}
	for i := range m.Differences {
		d := &m.Differences[i]
		x.Compatible = x.Compatible && (d.Compatible || d.Class == diff.Indirect)
		x.Sentences = append(x.Sentences, Title(d))
	}
	return x
}
