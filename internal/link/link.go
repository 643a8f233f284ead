package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/link/decide"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
	"github.com/rules-btf/rules_btf/internal/link/resolve"
	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/link/symbols"
	"github.com/rules-btf/rules_btf/internal/link/write"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/message"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// Options and the units together determine the result of a link.
type Options struct {
	// Facts are the facts of the linked file. Without them, every function candidate counts as linked
	// under its own name, and only variables from BTF that is already linked are encoded.
	Facts     *facts.Facts
	FactsPath string // for messages; may be empty
	// If Base is not nil, the result is split BTF that is based on it.
	Base     base.Base
	BasePath string // for messages; may be empty
	Features features.Set
	// Variables selects the variables to encode. All and Extra need the feature global_var.
	Variables Which
	Jobs      int // the number of threads, 0 for one per processor; the result doesn't depend on it
	// Step, when set, is called with the name of each step as it begins.
	Step func(name string)
}

// Skipped is a function or variable of the linked file that is not encoded.
type Skipped = decide.Skipped

// Result is the result of Link.
type Result struct {
	BTF     []byte
	Skipped []Skipped // sorted by name, then by reason
	// Conflicts is the number of tags with several definitions.
	Conflicts int
	// Doubt says why Options.Base may be the wrong base; "" if there is no sign of it.
	Doubt string
	// LeftOut are units that aren't in the linked file, such as archive members that nothing needed.
	LeftOut symbols.LeftOut
	// Absent are the units in LeftOut that have functions, but no global functions.
	Absent symbols.LeftOut
	// Loss says which members are left out because nothing defines their types; "" if none is.
	Loss string
}

// Link makes the final BTF for the objects' units. It doesn't change the objects, except that it
// may add names to their graphs.
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
	return One(o, opt)
}

// One is Link for a single object, which it doesn't keep after the first stages.
func One(o *object.Object, opt Options) (*Result, error) {
	opt.setDefaults()
	order := orderOf(o)
	r, _, err := opt.resolve(o)
	if err != nil {
		return nil, err
	}
	linked, err := opt.finish(r, nil, order)
	if err != nil {
		return nil, err
	}
	return linked.Result, nil
}

// WithUnits is like One, but its result also says which unit holds which type, which takes more
// memory.
func WithUnits(o *object.Object, opt Options) (*Linked, error) {
	opt.setDefaults()
	r, u, err := opt.resolve(o)
	if err != nil {
		return nil, err
	}
	return opt.finish(r, u, orderOf(o))
}

// finish runs the stages after those of resolve. The result has u, which may be nil.
func (opt *Options) finish(r *resolution, u *units, order binary.ByteOrder) (*Linked, error) {
	opt.Step("choose functions and variables")
	d, err := decide.Decide(r.types, r.index, opt.Facts, opt.Features, opt.Variables == Extra,
		opt.Jobs)
	if err != nil {
		return nil, err
	}
	r.result.Skipped = d.Skipped
	t, result := r.types.Types, r.result
	opt.Step("write types")
	w, err := write.BTF(t, d, write.Options{Order: order, Jobs: opt.Jobs,
		Layout: opt.Features.Has(features.Layout), CheckNames: opt.Facts != nil,
		OnlyMade: opt.Variables == Extra})
	if err != nil {
		return nil, err
	}
	result.BTF = w.BTF
	return &Linked{result, u, t, d, w}, nil
}

func (opt *Options) setDefaults() {
	if opt.Jobs == 0 {
		opt.Jobs = runtime.GOMAXPROCS(0)
	}
	if opt.Step == nil {
		opt.Step = func(string) {}
	}
}

func orderOf(o *object.Object) binary.ByteOrder {
	if o.Target.Order == nil {
		return binary.LittleEndian
	}
	return o.Target.Order
}

// resolution is the result of the first stages, up to the types that the shapes become.
type resolution struct {
	types  *resolve.Candidates
	index  *symbols.Index
	result *Result // as far as it is known
}

// units says which types the object's units hold.
type units struct {
	*resolve.Units
	held   *survey.Held
	copied []bool     // by unit: it is the base of an input that is split BTF; nil if no unit is one
	ids    []types.ID // by node of the object: the node in types; nil if they are equal
}

func (opt *Options) resolve(o *object.Object) (*resolution, *units, error) {
	if err := opt.checkTarget(o.Target, orderOf(o)); err != nil {
		return nil, nil, err
	}
	opt.Step("select units")
	if err := opt.Variables.Check(opt.Features, opt.Facts != nil, opt.Base != nil); err != nil {
		return nil, nil, err
	}
	all := o.Units
	if opt.Variables == PerCPU && opt.Features.Has(features.GlobalVar) {
		all = without(o.Graph, all, isGlobal)
		opt.withoutGlobals()
	}
	r, u := &resolution{result: &Result{}}, &units{}
	rest, copied, copies := resolve.Copies(o.Graph, all, opt.Base)
	s, x, err := selectUnits(o, rest, *opt)
	if err != nil {
		return nil, nil, err
	}
	if what, found := findUnsound(o, s, opt); found {
		c, err := makeSound(o, all, what)
		if err != nil {
			return nil, nil, err
		}
		u.ids, r.result.Loss = c.ids, c.loss
		rest, copied, copies = resolve.Copies(c.Graph, c.Units, opt.Base)
		if s, x, err = selectUnits(c.Object, rest, *opt); err != nil {
			return nil, nil, err
		}
	}
	opt.Step("resolve conflicts")
	r.result.LeftOut, r.result.Absent = x.LeftOut(s)
	r.index, u.held, u.copied = x, s.Held, copied
	r.types, u.Units = resolve.Resolve(s, opt.Base, copies, opt.Jobs)
	r.result.Conflicts = r.types.Conflicts
	if !slices.ContainsFunc(rest, func(u object.Unit) bool { return u.FromBTF }) {
		r.result.Doubt = r.types.Found.Doubt() // linked BTF has only types that its base lacks
	}
	return r, u, nil
}

// id returns the node in the resolved types for a node of the object.
func (u *units) id(node types.ID) types.ID {
	if u.ids == nil {
		return node
	}
	return u.ids[node]
}

// selectUnits checks the object, surveys its units, as far as they are in the list units, and the
// symbols, and drops the units that are not linked.
func selectUnits(o *object.Object, units []object.Unit, opt Options) (*survey.Survey,
	*symbols.Index, error) {
	strs := &o.Graph.Strs
	symbols.AddBases(strs, opt.Facts, opt.Jobs)
	var s *survey.Survey
	var x *symbols.Index
	var endless error
	parallel.All(opt.Jobs,
		func() { s = survey.New(o.Graph, units) },
		func() { x = symbols.New(strs, opt.Facts) },
		func() { endless = o.CheckFinite() })
	if endless != nil {
		return nil, nil, endless
	}
	x.Select(s, opt.Facts)
	if len(units) > 0 && !slices.Contains(s.Selected, true) {
		return nil, nil, fmt.Errorf("according to its symbols, the linked file has none of the %d "+
			"compilation units: the facts belong to another file (use the facts of the file that these "+
			"objects were linked into), the linker has discarded their sections (link with "+
			"--no-gc-sections), or the symbol table is stripped or damaged (link without --strip-all)",
			len(units))
	}
	return s, x, nil
}

// WriteSkipped writes the list for --skipped. The list omits the functions and variables of the
// units in LeftOut: these units' debugging information isn't in the linked file.
func (r *Result) WriteSkipped(w io.Writer) error { return decide.WriteSkipped(w, r.Skipped) }

// Linked is a Result that also knows which unit holds which type.
type Linked struct {
	*Result
	units   *units
	types   *resolve.Types
	decided *decide.Decisions
	written *write.Written
}

// ID returns the id, in the result or its base, of a type, function or variable of the object, or 0
// if it has none. Unit u, which holds it, must be BTF that was linked before, and node must be from
// object.FromBlob.
func (l *Linked) ID(u int, node types.ID) uint32 {
	node = l.units.id(node)
	k := l.types.Of(node)
	if !l.types.Fixed(node) {
		k = l.units.In(u, node)
	}
	if kind := l.types.Node(k).Kind; kind == types.KindFunc || kind == types.KindVar {
		return l.written.MadeID(l.decided.Encoded(k))
	}
	return l.written.ID(k)
}

// Holders maps the ids of types in the result and its bases to the units that hold these types, as
// ascending indexes into the object's Units. It includes only base types, typedefs and definitions
// of tags, and only ids for which want returns true. A unit that only declares a tag doesn't hold
// it.
func (l *Linked) Holders(want func(id uint32) bool) map[uint32][]int {
	all := l.units.held
	holders := map[uint32][]int{}
	for u := range all.Units {
		if !all.Selected[u] {
			continue
		}
		for _, node := range all.Units[u].Items {
			if !survey.Named(&l.types.Shapes.Nodes[node]) {
				continue
			}
			id := l.written.ID(l.units.In(u, node))
			if want(id) && !slices.Contains(holders[id][max(0, len(holders[id])-1):], u) {
				holders[id] = append(holders[id], u)
			}
		}
	}
	return holders
}

// IsBase reports whether unit u of the object is the base of an input that is split BTF.
func (l *Linked) IsBase(u int) bool { return l.units.copied != nil && l.units.copied[u] }

// checkTarget returns an error if the target of the facts or the base differs from that of the
// units, as far as both are known.
// Rule: target: facts, units and bases must agree. When they are linked.
func (opt *Options) checkTarget(units object.Target, order binary.ByteOrder) error {
	units.Order = order
	if units.Machine == 0 {
		units.AddrSize = 0 // a guess
	}
	if f := opt.Facts; f != nil && f.AddrSize != 0 {
		of := object.Target{AddrSize: f.AddrSize, Order: binary.LittleEndian, Machine: uint16(f.Machine)}
		if f.BigEndian {
			of.Order = binary.BigEndian
		}
		known := units.Machine != 0 && f.Machine != 0
		if known && of != units || of.Order != order {
			return fmt.Errorf("the objects are for %v, but the facts%s are about a file for %v; use the "+
				"facts of the file that the objects were linked into", units,
				strings.TrimSuffix(" "+opt.FactsPath, " "), of)
		}
		if units.Machine == 0 {
			units = of
		}
	}
	if opt.Base == nil {
		return nil
	}
	on, own := opt.Base.Target().Differs(units)
	if on == "" {
		return nil
	}
	return message.Marked(fmt.Errorf("%s is %s, but the split BTF is %s; use the BTF of the kernel "+
		"that the input was built for", strings.TrimSuffix("the base "+opt.BasePath, " "), on, own),
		relocate.ErrWrongBase)
}

// Which selects the variables to encode. See package decide.
type Which = decide.Which

// The choices of variables.
const (
	PerCPU = decide.PerCPU
	All    = decide.All
	Extra  = decide.Extra
)

// withoutGlobals makes the options what they would be without the feature global_var.
func (opt *Options) withoutGlobals() {
	opt.Features = opt.Variables.Features(opt.Features)
	if opt.Facts != nil {
		opt.Facts = opt.Facts.PerCPU()
	}
}

// isGlobal reports whether a unit would lack a node without the feature global_var.
func isGlobal(n *types.Node) bool { return n.Kind == types.KindVar && n.Flag }

// without returns copies of the units without the items for which drop returns true, and without
// the declaration tags on these. BTF that is already linked keeps them.
func without(g *types.Graph, units []object.Unit, drop func(n *types.Node) bool) []object.Unit {
	units = slices.Clone(units)
	for i := range units {
		if u := &units[i]; !u.FromBTF {
			u.Items = slices.DeleteFunc(slices.Clone(u.Items), func(id types.ID) bool {
				n := g.Node(id)
				if n.Kind == types.KindDeclTag {
					n = g.Node(n.Ref)
				}
				return drop(n)
			})
		}
	}
	return units
}
