package decide_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/link/decide"
	"github.com/rules-btf/rules_btf/internal/link/linktest"
	"github.com/rules-btf/rules_btf/internal/link/resolve"
	"github.com/rules-btf/rules_btf/internal/link/symbols"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

const (
	static = types.LinkageStatic
	global = types.LinkageGlobal
)

// decision is what is decided about some units. Its methods list what is made and what is skipped,
// one per line.
type decision struct {
	*resolve.Types
	*decide.Decisions
}

func decideUnits(b *linktest.Builder, f *facts.Facts, set features.Set,
	below base.Base) (*decision, error) {
	symbols.AddBases(&b.Graph.Strs, f, 2)
	s := b.Survey()
	x := symbols.New(&b.Graph.Strs, f)
	x.Select(s, f)
	t, _ := resolve.Resolve(s, below, nil, 1)
	d, err := decide.Decide(t, x, f, set, false, 2)
	return &decision{t.Types, d}, err
}

// made returns a text for each type that was made, except types that occur only inside others.
func (d *decision) made() []string {
	var lines []string
	for k, n := range d.Made {
		if n.Name != 0 && n.Kind != types.KindTypeTag {
			lines = append(lines, d.spell(k))
		}
	}
	slices.Sort(lines)
	return lines
}

// spell spells out a type, much as C does.
func (d *decision) spell(k decide.Type) string {
	if k == 0 {
		return "void"
	}
	var n decide.Node
	var elems []decide.Elem
	if d.IsMade(k) {
		n = d.At(k)
		elems = d.Elems(&n)
	} else {
		n, elems = d.Resolved(k)
	}
	name := d.Shapes.Graph.Strs.String(n.Name)
	switch n.Kind {
	case types.KindStub:
		return "declared " + name
	case types.KindStruct:
		return fmt.Sprintf("struct %s of %d", name, n.Size)
	case types.KindDatasec:
		line := fmt.Sprintf("section %s of %d:", name, n.Size)
		for _, e := range elems {
			line += fmt.Sprintf(" (%s)@%d+%d", d.spell(e.Ref), uint32(e.Val), e.Val>>32)
		}
		return line
	case types.KindDeclTag:
		return fmt.Sprintf("tag %s, component %d, on %s", name, n.Aux, d.spell(n.Ref))
	case types.KindFunc, types.KindVar:
		linkage := []string{"static ", "global ", "extern "}[n.Aux]
		return linkage + name + ": " + d.spell(n.Ref)
	case types.KindFuncProto:
		line := d.spell(n.Ref)
		var params []string
		for _, e := range elems {
			params = append(params, d.spell(e.Ref))
		}
		return line + "(" + strings.Join(params, ", ") + ")"
	case types.KindPtr:
		return "*" + d.spell(n.Ref)
	case types.KindConst:
		return "const " + d.spell(n.Ref)
	case types.KindTypeTag:
		return name + " " + d.spell(n.Ref)
	}
	return name
}

// skippedLines are the functions and variables that are left out, with the reasons.
func (d *decision) skippedLines() []string {
	var lines []string
	for _, s := range d.Skipped {
		lines = append(lines, s.Name+": "+s.Reason)
	}
	return lines
}

// rule is a test case for one rule: units, facts and what follows from them.
type rule struct {
	what    string
	build   func(b *linktest.Builder)
	facts   *facts.Facts
	with    []features.Set // in addition to the default features
	without features.Set
	want    []string
	skipped []string
}

func (r *rule) features() features.Set {
	set := features.Default() &^ features.Set(r.without)
	for _, f := range r.with {
		set = set.With(f)
	}
	return set
}

func check(t *testing.T, rules []rule) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.what, func(t *testing.T) {
			b := linktest.New()
			r.build(b)
			names := b.Graph.Strs
			r.check(t, b)
			b = linktest.New()
			for s := range names.Len() {
				b.Str(names.String(types.Str(s)))
				for i := range 1 << 12 { // so that different threads decide on the names
					b.Str(fmt.Sprint("between ", s, " ", i))
				}
			}
			r.build(b)
			r.check(t, b)
		})
	}
}

func (r *rule) check(t *testing.T, b *linktest.Builder) {
	t.Helper()
	d := must.Get(decideUnits(b, r.facts, r.features(), nil))(t)
	if got := d.made(); !slices.Equal(got, r.want) {
		t.Errorf("made:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(r.want, "\n"))
	}
	if got := d.skippedLines(); !slices.Equal(got, r.skipped) {
		t.Errorf("skipped %q, want %q", got, r.skipped)
	}
}

// TestErrors tests facts that lack what the features need, and variables that the format can't
// hold.
func TestErrors(t *testing.T) {
	perCPU := facts.PerCPUSection
	object := func(name, section string, offset uint64) []facts.Variable {
		return []facts.Variable{{Name: name, Section: section, Offset: offset, Size: 4, File: -1}}
	}
	var tooMany []facts.Variable
	for i := range uint64(btf.MaxVlen + 1) {
		tooMany = append(tooMany, object("v", perCPU, 4*i)...)
	}
	for _, c := range []struct {
		what  string
		facts facts.Facts
		with  features.Set
		err   string
	}{
		{"facts without variables", facts.Facts{Variables: facts.VariablesNone},
			features.Of(features.Var), "the facts list no variables"},
		{"facts of per-CPU variables only", facts.Facts{Variables: facts.VariablesPerCPU},
			features.Of(features.GlobalVar), "variables outside section .data..percpu"},
		{"facts without kfuncs", facts.Facts{KfuncState: facts.KfuncsOff},
			features.Of(features.DeclTagKfuncs), "the facts list no kfuncs"},
		{"a file without kfuncs", facts.Facts{KfuncState: facts.KfuncsAbsent},
			features.Of(features.DeclTagKfuncs), ""},
		{"a name that is not an identifier", facts.Facts{Vars: object("a-b", perCPU, 0)},
			features.Of(features.Var), "its name is not an identifier"},
		{"what to do about it", facts.Facts{Vars: object("a-b", perCPU, 0)},
			features.Of(features.Var), "encode_force to leave such variables out"},
		{"the same, left out", facts.Facts{Vars: object("a-b", perCPU, 0)},
			features.Of(features.Var, features.EncodeForce), ""},
		{"an offset of more than 32 bits", facts.Facts{Vars: object("v", perCPU, 1<<32)},
			features.Of(features.Var), "don't fit in the 32 bits of the format"},
		{"more variables than a section can have", facts.Facts{Vars: tooMany},
			features.Of(features.Var), "65536 variables"},
	} {
		b := linktest.New()
		b.Unit("a.c", 1)
		b.Var("a-b", global, 4, b.Int("int"))
		b.Var("v", global, 4, b.Int("int"))
		_, err := decideUnits(b, &c.facts, c.with, nil)
		if c.err == "" && err != nil || c.err != "" &&
			(err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: error %v, want one with %q", c.what, err, c.err)
		}
	}
}

func TestWriteSkipped(t *testing.T) {
	var text strings.Builder
	list := []decide.Skipped{{Name: "f", Reason: "inconsistent prototype"},
		{Name: "v", Reason: "several static variables of this name"},
		{Name: "x\t\ny", Reason: "name is not an identifier"}}
	must.OK(t, decide.WriteSkipped(&text, list))
	want := "f\tinconsistent prototype\nv\tseveral static variables of this name\n" +
		`x\t\ny` + "\tname is not an identifier\n"
	if text.String() != want {
		t.Errorf("%q, want %q", text.String(), want)
	}
	if list[0].Variable() || !list[1].Variable() {
		t.Error("the reason doesn't distinguish a variable from a function")
	}
}
