package link

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

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
	step("resolve conflicts")
	t := resolve.Resolve(s, opt.Base, copies, opt.Jobs)
	step("choose functions and variables")
	d, err := decide.Decide(t, x, opt.Facts, opt.Features, opt.Variables == Extra)
	if err != nil {
		return nil, err
	}
	step("write types")
	w, err := write.BTF(t, d, write.Options{Order: order, Jobs: opt.Jobs,
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

// Linked is a result of Link that still knows which unit holds which of its types.
type Linked struct {
	*Result
	copied  []bool // by unit: it is a base that split BTF brought along; nil if none is
	types   *resolve.Types
	written *write.Written
}

// Holders returns the units that hold a type of the result by its name, as ascending indexes in the
// object's Units, for each BTF id that want is true for. Types that are held so are base types,
// typedefs and definitions of tags; a unit that only declares a tag doesn't hold it. Ids are of the
// result or its bases.
func (l *Linked) Holders(want func(id uint32) bool) map[uint32][]int {
	all := l.types
	holders := map[uint32][]int{}
	for u := range all.Units {
		if !all.Selected[u] {
			continue
		}
		for _, node := range all.Units[u].Items {
			if !survey.Named(&all.Nodes[node]) {
				continue
			}
			id := l.written.ID(all.In(u, node))
			if want(id) && !slices.Contains(holders[id][max(0, len(holders[id])-1):], u) {
				holders[id] = append(holders[id], u)
			}
		}
	}
	return holders
}

// IsBase reports whether the unit with an index in the object's Units is one of the bases: split
// BTF brings them along.
func (l *Linked) IsBase(u int) bool { return l.copied != nil && l.copied[u] }

// checkTarget refuses facts and a base of another byte order or machine than the units, as far as
// both are known. Raw BTF doesn't say for which machine it is, and neither does an index of it. A
// BPF program may be based on that of any machine's kernel.
func (opt *Options) checkTarget(units object.Target, order binary.ByteOrder) error {
	base := strings.TrimSuffix("the base "+opt.BasePath, " ")
	if opt.Base != nil && opt.Base.Order() != order {
		return fmt.Errorf("%s is %v, what is based on it is %v; name the BTF of the kernel that it "+
			"belongs to", base, opt.Base.Order(), order)
	}
	machine := elf.Machine(units.Machine)
	if f := opt.Facts; f != nil && f.AddrSize != 0 {
		of := object.Target{AddrSize: f.AddrSize, Order: binary.LittleEndian, Machine: uint16(f.Machine)}
		if f.BigEndian {
			of.Order = binary.BigEndian
		}
		units.Order = order
		known := machine != 0 && f.Machine != 0
		if known && of != units || of.Order != order {
			return fmt.Errorf("they are for %v, the facts%s are for %v; name those of the file that they "+
				"were linked to", units, strings.TrimSuffix(" "+opt.FactsPath, " "), of)
		}
		if machine == 0 {
			machine = f.Machine
		}
	}
	if opt.Base == nil || machine == elf.EM_BPF {
		return nil
	}
	if on := elf.Machine(opt.Base.Machine()); on != 0 && machine != 0 && on != machine {
		return fmt.Errorf("%s is for %v, what is based on it is for %v; name the BTF of the kernel "+
			"that it belongs to", base, on, machine)
	}
	return nil
}

// Which says which variables are encoded. See package decide.
type Which = decide.Which

// The choices of variables.
const (
	PerCPU = decide.PerCPU
	All    = decide.All
	Extra  = decide.Extra
)

// withoutGlobals makes the options those of objects and facts that were made without global_var.
func (opt *Options) withoutGlobals() {
	opt.Features = opt.Variables.Features(opt.Features)
	if opt.Facts != nil {
		opt.Facts = opt.Facts.PerCPU()
	}
}

// withoutGlobals returns the units as they are in objects that were made without global_var. The
// units given stay as they are.
func withoutGlobals(g *types.Graph, units []object.Unit) []object.Unit {
	drop := make([]bool, len(g.Nodes))
	for i := range g.Nodes {
		switch n := &g.Nodes[i]; n.Kind {
		case types.KindVar:
			drop[i] = n.Flag
		case types.KindDeclTag:
			drop[i] = drop[n.Ref] // children come first
		}
	}
	units = slices.Clone(units)
	for i := range units {
		u := &units[i]
		if u.FromBTF {
			continue
		}
		u.Items = slices.DeleteFunc(slices.Clone(u.Items), func(id types.ID) bool { return drop[id] })
	}
	return units
}
