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

// countUnits records the units that a conversion read, and returns a text about them.
func (r *Run) countUnits(c *convert.Counts) string {
	r.Stats.DWARF = &DWARF{c.Bytes, c.Units, c.Excluded, c.Unencodable, c.Partial, c.Types}
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

// countFacts records the facts of a linked file, and returns a text about them.
func (r *Run) countFacts(f *facts.Facts) string {
	c := &Facts{Functions: len(f.Globals), Variables: len(f.Objects), Kfuncs: len(f.Kfuncs)}
	for i := range f.Files {
		c.Functions += len(f.Files[i].Funcs)
	}
	r.Stats.Facts = c
	return message.Count(c.Functions, "function") + ", " + message.Count(c.Variables, "variable") +
		", " + message.Count(c.Kfuncs, "kfunc")
}

// countShapes records the shapes of o, if counts are wanted, and returns a text about them.
// Counting takes time, because it visits every item of every unit.
func (r *Run) countShapes(o *object.Object) string {
	if !r.wanted() {
		return ""
	}
	c := &Shapes{Distinct: len(o.Graph.Nodes) - 1}
	seen := make([]bool, len(o.Graph.Nodes))
	for i := range o.Units {
		u := &o.Units[i]
		c.Units += uint64(u.Count)
		c.Held += uint64(u.Count) * uint64(len(u.Items))
		for _, id := range u.Items {
			if !seen[id] {
				seen[id] = true
				c.Roots++
			}
		}
	}
	c.Repeats = c.Held - uint64(c.Roots)
	r.Stats.Shapes = c
	return ", " + message.Count(c.Distinct, "shape") + ", " + message.Count(int(c.Repeats), "repeat")
}

// countTypes records the types in data, if counts are wanted, and returns a text about them. data
// is BTF, or an ELF file with a section .BTF.
func (r *Run) countTypes(data []byte, base *btf.Blob) (string, error) {
	if !r.wanted() {
		return "", nil
	}
	if !btf.HasMagic(data) {
		f, err := elf.Parse("ELF file", data)
		if err != nil {
			return "", err
		}
		if data, err = btf.Section(f, btf.SectionTypes); err != nil {
			return "", err
		}
	}
	kinds, err := btf.CountKinds(data, base)
	if err != nil {
		return "", err
	}
	c := &Types{Kinds: map[string]int{}}
	for k := btf.KindInt; k <= btf.KindEnum64; k++ { // a link makes no later kinds
		c.Total += kinds[k]
		c.Kinds[k.String()] = kinds[k]
	}
	r.Stats.Types = c
	return message.Count(c.Total, "type"), nil
}

// countLinked records the result of a link, if counts are wanted, and returns a text about it.
func (r *Run) countLinked(result *link.Result, base *btf.Blob) (string, error) {
	text, err := r.countTypes(result.BTF, base)
	if err != nil || text == "" {
		return "", err
	}
	kinds := r.Stats.Types.Kinds
	functions := &Decided{kinds[btf.KindFunc.String()], map[string]int{}}
	variables := &Decided{kinds[btf.KindVar.String()], map[string]int{}}
	for _, s := range result.Skipped {
		if s.Variable() {
			variables.Skipped[s.Reason]++
		} else {
			functions.Skipped[s.Reason]++
		}
	}
	r.Stats.Functions, r.Stats.Variables, r.Stats.Conflicts = functions, variables, &result.Conflicts
	return text + ", " + message.Count(result.Conflicts, "conflict") + ", " +
		functions.text("function") +
		", " + variables.text("variable") + leftOut(result.LeftOut.Files), nil
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
