package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/link/decide"
	"github.com/rules-btf/rules_btf/internal/link/resolve"
	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/link/symbols"
	"github.com/rules-btf/rules_btf/internal/link/write"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// Options are what besides the units decides the result.
type Options struct {
	// Facts are those of the linked file. Without them every function candidate counts as linked
	// under its own name, and no variables are encoded but those of BTF that was linked before.
	Facts     *facts.Facts
	FactsPath string // for messages; may be empty
	// Base makes the result split BTF; nil for none.
	Base     base.Base
	BasePath string // for messages; may be empty
	Features features.Set
	// Variables says which variables are encoded, of objects that have all.
	Variables Which
	Jobs      int // how many threads may work, 0: one a processor; it changes only the time
	// Step, when set, is called with the name of each step as it begins.
	Step func(name string)
}

// Skipped is a function or variable of the linked file that is not encoded.
type Skipped = decide.Skipped

// Result is what Link makes.
type Result struct {
	BTF     []byte
	Skipped []Skipped // by name, then reason
	// Conflicts is how many tags have several definitions.
	Conflicts int
	// LeftOut is the units that are left out, since nothing of them is in the linked file: members
	// of an archive that the linker didn't need, say.
	LeftOut symbols.LeftOut
	// Absent is those of them that have functions, but no global ones.
	Absent symbols.LeftOut
}

// Link makes the final BTF of the objects' units. The objects stay as they are, except that their
// graphs may gain names.
func Link(inputs []*object.Object, opt Options) (*Result, error) {
	if len(inputs) == 0 {
		return nil, errors.New("link: there is no input")
	}
	o := inputs[0]
	if len(inputs) > 1 {
		var err error
		if o, err = object.Merge(inputs...); err != nil {
			return nil, err
		}
	}
	linked, err := Object(o, opt)
	if err != nil {
		return nil, err
	}
	return linked.Result, nil
}

// Object links one object: it is Link without the merge, and its result knows who holds what.
func Object(o *object.Object, opt Options) (*Linked, error) {
	if opt.Jobs == 0 {
		opt.Jobs = runtime.GOMAXPROCS(0)
	}
	step := opt.Step
	if step == nil {
		step = func(string) {}
	}
	order := o.Target.Order
	if order == nil {
		order = binary.LittleEndian
	}
	if err := opt.checkTarget(o.Target, order); err != nil {
		return nil, err
	}
	step("select units")
	if err := o.CheckFinite(); err != nil {
		return nil, err
	}
	if err := opt.Variables.Check(opt.Features, opt.Facts != nil, opt.Base != nil); err != nil {
		return nil, err
	}
	units, copied, copies := resolve.Copies(o.Graph, o.Units, opt.Base)
	if opt.Variables == PerCPU && opt.Features.Has(features.GlobalVar) {
		units = withoutGlobals(o.Graph, units)
		opt.withoutGlobals()
	}
	s, x, err := selectUnits(o.Graph, units, opt)
	if err != nil {
		return nil, err
	}
	var sorted *write.SortedStrings
	if opt.Jobs > 1 {
		sorted = write.SortStrings(o.Graph.Strs)
		defer sorted.Wait()
	}
	step("resolve conflicts")
	t := resolve.Resolve(s, opt.Base, copies, opt.Jobs)
	step("choose functions and variables")
	d, err := decide.Decide(t, x, opt.Facts, opt.Features, opt.Variables == Extra)
	if err != nil {
		return nil, err
	}
	step("write types")
	w, err := write.BTF(t, d, write.Options{Order: order, Jobs: opt.Jobs, Sorted: sorted,
		Layout: opt.Features.Has(features.Layout), CheckNames: opt.Facts != nil,
		OnlyMade: opt.Variables == Extra})
	if err != nil {
		return nil, err
	}
	result := &Result{BTF: w.BTF, Skipped: d.Skipped, Conflicts: t.Conflicts}
	result.LeftOut, result.Absent = x.LeftOut(s)
	return &Linked{result, copied, t, w}, nil
}

// selectUnits looks at the units and the symbols, and drops the units that are not linked.
func selectUnits(g *types.Graph, units []object.Unit, opt Options) (*survey.Survey,
	*symbols.Index, error) {
	symbols.AddBases(&g.Strs, opt.Facts)
	s := survey.New(g, units)
	var x *symbols.Index
	parallel.All(opt.Jobs, s.Shapes, func() { x = symbols.New(&g.Strs, opt.Facts) }, s.Holders)
	x.Select(s, opt.Facts)
	if len(units) > 0 && !slices.Contains(s.Selected, true) {
		return nil, nil, fmt.Errorf("none of the %d compilation units is in the linked file, as "+
			"its symbols tell: the facts are of another file (name the one that these objects were "+
			"linked to), or the linker has discarded their sections (link with --no-gc-sections), or "+
			"the symbol table is stripped or damaged (link without --strip-all)", len(units))
	}
	return s, x, nil
}

// WriteSkipped writes the list that --skipped names: decide.WriteSkipped. LeftOut isn't in it, for
// the debugging information of such units isn't in the linked file either.
func (r *Result) WriteSkipped(w io.Writer) error { return decide.WriteSkipped(w, r.Skipped) }
