package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// EndRead ends the phase in which n BTF objects were read and merged into o.
func (r *Run) EndRead(p *Phase, n int, o *object.Object) {
	p.stop()
	p.record(message.Count(n, "file") + r.countShapes(o))
}

// countUnits returns a text about the units that a conversion read.
func countUnits(c *convert.Counts) string {
	text := message.Count(c.Units, "unit")
	for _, more := range []struct {
		n    int
		what string
	}{
		{c.Excluded, " of an excluded language"}, {c.Unencodable, " left out"},
		{c.Partial, " partial"}, {c.Types, " of types"},
	} {
		if more.n > 0 {
			text += ", " + message.Count(more.n, "unit") + more.what
		}
	}
	return text + ", " + bytesText(int64(c.Bytes)) + " of debugging information"
}

// countFacts returns a text about the facts of a linked file.
func countFacts(f *facts.Facts) string {
	functions := len(f.Globals)
	for i := range f.Files {
		functions += len(f.Files[i].Funcs)
	}
	return message.Count(functions, "function") + ", " + message.Count(len(f.Vars), "variable") +
		", " + message.Count(len(f.Kfuncs), "kfunc")
}

// countShapes returns a text about the shapes of o: how many there are, and how many entries of the
// units' lists repeat a type of another unit. It is "" without --verbose, because counting takes
// time: it visits every item of every unit.
func (r *Run) countShapes(o *object.Object) string {
	if !r.env.Verbose {
		return ""
	}
	var held, roots uint64
	seen := make([]bool, len(o.Graph.Nodes))
	for i := range o.Units {
		u := &o.Units[i]
		held += uint64(u.Count) * uint64(len(u.Items))
		for _, id := range u.Items {
			if !seen[id] {
				seen[id] = true
				roots++
			}
		}
	}
	return ", " + message.Count(len(o.Graph.Nodes)-1, "shape") + ", " +
		message.Count(held-roots, "repeat")
}

// kindsOf counts the types in data by kind. data is BTF, or an ELF file with a section .BTF.
func kindsOf(data []byte, base *btf.Blob) (kinds [btf.NumKinds]int, total int, err error) {
	if !btf.HasMagic(data) {
		f, err := elf.Parse("ELF file", data)
		if err != nil {
			return kinds, 0, err
		}
		if data, err = btf.Section(f, btf.SectionTypes); err != nil {
			return kinds, 0, err
		}
	}
	kinds, err = btf.CountKinds(data, base)
	for _, n := range kinds {
		total += n
	}
	return kinds, total, err
}

// countLinked returns a text about the result of a link, or "" without --verbose.
func (r *Run) countLinked(result *link.Result, base *btf.Blob) (string, error) {
	if !r.env.Verbose {
		return "", nil
	}
	kinds, total, err := kindsOf(result.BTF, base)
	if err != nil {
		return "", err
	}
	functions := &Decided{kinds[btf.KindFunc], map[string]int{}}
	variables := &Decided{kinds[btf.KindVar], map[string]int{}}
	for _, s := range result.Skipped {
		if s.Variable() {
			variables.Skipped[s.Reason]++
		} else {
			functions.Skipped[s.Reason]++
		}
	}
	return message.Count(total, "type") + ", " + message.Count(result.Conflicts, "conflict") + ", " +
		functions.text("function") + ", " + variables.text("variable") +
		leftOut(result.LeftOut.Files), nil
}

// leftOut returns a text about the source files that contributed nothing to the linked file.
func leftOut(files []string) string {
	if len(files) == 0 {
		return ""
	}
	names := strings.Join(files[:min(len(files), 5)], ", ")
	if len(files) > 5 {
		names += ", ..."
	}
	return fmt.Sprintf(", nothing from %s (%s) is in the linked file",
		message.Count(len(files), "source file"), names)
}

// text says how many functions or variables are encoded, and how many are skipped for each reason,
// with the most common reason first.
func (d *Decided) text(noun string) string {
	text := message.Count(d.Encoded, noun)
	if len(d.Skipped) == 0 {
		return text
	}
	reasons := slices.SortedFunc(maps.Keys(d.Skipped), func(a, b string) int {
		return cmp.Or(d.Skipped[b]-d.Skipped[a], strings.Compare(a, b))
	})
	for i, reason := range reasons {
		reasons[i] = fmt.Sprintf("%d %s", d.Skipped[reason], reason)
	}
	return text + " (skipped: " + strings.Join(reasons, ", ") + ")"
}
