package needs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/programs/reach"
)

// request is a relocation whose types aren't in Needs.Local yet.
type request struct {
	kind   core.Kind
	memory uint8
	root   *want
	path   []core.Point // the path to a field or enumerator: names and indexes
	key    string
}

func newRequest(kind core.Kind, memory uint8, root *want, path []core.Point) *request {
	r := &request{kind, memory, root, path, ""}
	r.key = fmt.Sprintf("%02d %v %q %d", kind, root.kind, root.name, memory)
	for _, p := range path {
		r.key += fmt.Sprintf(" %q %d", p.Name, p.Index)
	}
	r.key += " " + root.text()
	return r
}

// symbolRequest is a Symbol whose type isn't in Needs.Local yet.
type symbolRequest struct {
	Symbol
	of *want
}

// asked has what one program needs.
type asked struct {
	name, section string
	object        int // the index of the program's object file
	args          int // how many arguments the program reads
	relocations   map[string]*request
	symbols       map[string]symbolRequest
	// facts has the keys of the requests and symbols that are the facts in the conditions below.
	facts []string
	// reached has, by the key of a request or weak symbol, the condition under which one of the
	// instructions with that relocation or symbol is reached.
	reached map[string]Condition
	certain map[string]Condition // the same for Program.Certain
	// shared has the keys of the requests in functions in .text, which several programs may call.
	shared  map[string]bool
	refused map[Refused]bool
}

func newAsked(name, section string) *asked {
	return &asked{name: name, section: section, relocations: map[string]*request{},
		symbols: map[string]symbolRequest{}, reached: map[string]Condition{},
		certain: map[string]Condition{}, shared: map[string]bool{}, refused: map[Refused]bool{}}
}

func (a *asked) addSymbol(s Symbol, of *want) {
	a.symbols[symbolKey(s, of)] = symbolRequest{s, of}
}

// addConditions adds conditions for one more instruction.
func (a *asked) addConditions(key string, reached, certain reach.Condition) {
	a.reached[key] = append(a.reached[key], reached...)
	a.certain[key] = append(a.certain[key], certain...)
}

// Extract returns the needs of the programs in object files. The result doesn't depend on the order
// of the objects.
func Extract(objects ...*bpfobj.Object) (*Needs, error) {
	if len(objects) == 0 {
		return nil, errors.New("needs: no object files")
	}
	order := objects[0].BTF.Order
	var all []*asked
	for i, o := range objects {
		if o.BTF.Order != order {
			return nil, errors.New("the object files have different byte orders; make a file with " +
				"needs for each byte order")
		}
		list, err := programs(o)
		if err != nil {
			return nil, err
		}
		for _, a := range list {
			a.object = i
		}
		all = append(all, list...)
	}
	return assemble(all, order)
}

// programs returns what each program in an object needs. A function that no program calls counts as
// a program, because libbpf resolves the relocations of such functions too.
func programs(o *bpfobj.Object) ([]*asked, error) {
	budget := maxWants
	b := builder{o.BTF, &budget, map[core.Relocation]*request{}, reach.Weak{}}
	for name, x := range o.Externs {
		if s, _, ok := b.extern(name, x); ok && s.Weak && s.Kind.InBTF() {
			b.weak[name] = s.Kind == Kfunc
		}
	}
	reached := map[*bpfobj.Function]bool{}
	pointers := kptrs(b, o)
	of := map[*bpfobj.Function]*asked{}
	var list []*asked
	add := func(f *bpfobj.Function) error {
		a := newAsked(f.Name, f.Section)
		list, of[f] = append(list, a), a
		if err := a.addAll(b, o, f, pointers, reached); err != nil {
			return err
		}
		if hook, ok := hookOf(f.Section); ok && f.Program {
			if hook.Kind.hasArgs() {
				hook.Args = a.args
			}
			a.addSymbol(hook, nil)
		}
		return nil
	}
	for _, programs := range []bool{true, false} {
		for _, f := range o.Functions {
			if f.Program == programs && !reached[f] {
				if err := add(f); err != nil {
					return nil, fmt.Errorf("%s: %w", f.Name, err)
				}
			}
		}
	}
	maps, err := structOps(b, o, of)
	if err != nil {
		return nil, err
	}
	list = append(list, maps...)
	if budget < 0 {
		return nil, errors.New("the object's types have more than a million parts (a part " +
			"that several types use counts once for each of these types)")
	}
	return list, nil
}

// addAll adds what a function and the functions that it calls need.
func (a *asked) addAll(b builder, o *bpfobj.Object, f *bpfobj.Function,
	pointers map[string][]string, reached map[*bpfobj.Function]bool) error {
	seen := map[*bpfobj.Function]bool{f: true}
	keys, externs := map[reach.Site]string{}, map[string]string{}
	analysis := reach.Analyze(f, b.weak)
	a.args = analysis.Slots
	for todo := []*bpfobj.Function{f}; len(todo) > 0; {
		f := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		reached[f] = true
		for _, at := range slices.Sorted(maps.Keys(f.Relocations)) {
			x := f.Relocations[at]
			r, known := b.requests[x]
			if !known {
				var err error
				if r, err = b.request(x); err != nil {
					return err
				}
				b.requests[x] = r
			}
			if r != nil {
				a.relocations[r.key] = r
				keys[reach.Site{Function: f, Insn: at}] = r.key
				if !f.Program {
					a.shared[r.key] = true
				}
			}
		}
		for _, r := range f.Refused {
			a.refused[Refused{r, !f.Program}] = true
		}
		for _, name := range f.Uses {
			x := o.Externs[name]
			if x.Section == ".kconfig" {
				a.addKconfig(name, x.Weak)
			}
			if s, of, ok := b.extern(name, x); ok {
				a.addSymbol(s, of)
				externs[name] = symbolKey(s, of)
			}
		}
		for _, to := range f.Data {
			for _, name := range pointers[to.Map] {
				a.addSymbol(Symbol{Kind: Kptr, Name: name}, nil)
			}
		}
		for _, to := range f.Calls {
			if !seen[to] {
				seen[to] = true
				todo = append(todo, to)
			}
		}
	}
	for _, f := range analysis.Facts {
		a.facts = append(a.facts, keys[f.Site]+externs[f.Symbol])
	}
	for site, key := range keys {
		a.addConditions(key, analysis.Conditions[site], analysis.Certain[site])
	}
	for name, reached := range analysis.Symbols {
		a.addConditions(externs[name], reached.Some, reached.All)
	}
	return nil
}

// request reduces a relocation to what it needs from a kernel. It returns nil for the id of a local
// type, which doesn't depend on the kernel.
func (b builder) request(x core.Relocation) (*request, error) {
	s, err := core.Parse(b.BTF, x)
	if err != nil {
		return nil, err
	}
	switch {
	case x.Kind == core.TypeIDLocal:
		return nil, nil
	case x.Kind == core.TypeMatches:
		root, err := b.whole(x.Type, false, maxDepth)
		if err != nil {
			return nil, err
		}
		return newRequest(x.Kind, 0, root, nil), nil
	case x.Kind.IsType():
		return newRequest(x.Kind, 0, b.compatible(x.Type, maxDepth), nil), nil
	case x.Kind.IsEnumval():
		return b.enumerator(s), nil
	}
	memory := x.Memory
	if x.Kind != core.FieldByteOffset {
		memory = 0
	}
	return newRequest(x.Kind, memory, b.access(s), s.Points), nil
}

// enumerator returns the request for an enumerator. The relocation may name a typedef of the enum.
func (b builder) enumerator(s *core.Spec) *request {
	root, _ := b.ByID(s.Root)
	t, _ := b.ByID(s.Points[0].Type)
	w := &want{kind: t.Kind, name: b.TypeName(t), size: t.SizeOrType,
		members: []member{{name: core.Essential(s.Points[0].Name)}}}
	if root.Kind == btf.KindTypedef {
		w.name = ""
		w = &want{kind: btf.KindTypedef, name: b.TypeName(root), ref: w}
	}
	return newRequest(s.Kind, 0, w, []core.Point{{Name: core.Essential(s.Points[0].Name)}})
}

// extern returns the symbol that an external symbol in .ksyms is, and its type.
func (b builder) extern(name string, x bpfobj.Extern) (s Symbol, of *want, ok bool) {
	if x.Section != ".ksyms" {
		return s, nil, false
	}
	s = Symbol{Kind: Address, Name: name, Weak: x.Weak}
	if t, _ := b.ByID(x.Type); t.Kind == btf.KindFunc {
		s.Kind, s.Name, of = Kfunc, core.Essential(name), b.inner(x.Type, maxDepth)
		of.name = s.Name
	} else if of = b.compatible(t.SizeOrType, maxDepth); of != nil {
		s.Kind = Variable
	}
	return s, of, true
}

func symbolKey(s Symbol, of *want) string {
	return string(s.Kind) + " " + s.Name + " " + strconv.FormatBool(s.Weak) + " " + of.text()
}
