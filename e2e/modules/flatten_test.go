package modules

import (
	"slices"
	"strings"

	"github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/e2e/internal/compare"
	"github.com/rules-btf/rules_btf/e2e/internal/content"
)

// kernelBase is the BTF on which the modules' split BTF is based. It must not be used by several
// goroutines at the same time.
type kernelBase struct {
	spec     *btf.Spec
	contents *content.Contents
	side     *side
}

func readBase(path string) (*kernelBase, error) {
	spec, err := content.Open(path, nil)
	if err != nil {
		return nil, err
	}
	b := &kernelBase{spec: spec}
	if b.side, err = read(spec); err != nil {
		return nil, err
	}
	b.contents, err = content.Of(spec)
	return b, err
}

// flattened compares two kinds of BTF of a module: our split BTF, and the whole BTF, which an
// oracle made without a base. The split BTF and its base together must have everything that the
// whole BTF has, and the split BTF must have nothing that the whole BTF lacks.
//
// Definitions are compared twice. The first comparison is of their texts (package content), in
// which a reference is only a kind and a name. The second is of their meaning (relation): a
// reference must lead to the same type, at any depth. Only the second comparison can distinguish
// several definitions with the same name.
type flattened struct {
	*compare.Result
	contents *content.Contents // of the split BTF
	relation

	// types counts the types in the whole BTF that were compared. inBase counts those that equal a
	// type in the base, and inOwn counts those that equal only a type in the split BTF.
	types, inBase, inOwn int
	found                map[btf.Type]bool // the types in the whole BTF that equal one of ours
	// indirect counts the types that differ only because they lead to a type that differs.
	indirect int
	// declared has the tags that the base only declares but the whole BTF defines.
	declared map[string]bool
}

// flatten compares the split BTF and the whole BTF of a module, which are in the two files.
func flatten(b *kernelBase, split, whole string) (*flattened, error) {
	ours, err := content.Open(split, b.spec)
	if err != nil {
		return nil, err
	}
	theirs, err := content.Open(whole, nil)
	if err != nil {
		return nil, err
	}
	f := &flattened{declared: map[string]bool{}, found: map[btf.Type]bool{}}
	if f.contents, err = content.Of(ours); err != nil {
		return nil, err
	}
	wholeContents, err := content.Of(theirs)
	if err != nil {
		return nil, err
	}
	f.Result = compare.Contents(b.join(f.contents, wholeContents), wholeContents)
	f.relation = relation{base: b.side, index: map[pair]int{}}
	if f.own, err = read(ours); err != nil {
		return nil, err
	}
	if f.whole, err = read(theirs); err != nil {
		return nil, err
	}
	f.match()
	return f, nil
}

// join returns the definitions in the split BTF, and those in the base that the whole BTF also has.
// If the whole BTF has a definition that neither the split BTF nor the base has, join adds all
// definitions of that name in the base, so that the report shows them.
func (b *kernelBase) join(own, whole *content.Contents) *content.Contents {
	all := &content.Contents{Definitions: map[content.Class]map[string][]string{}}
	for _, class := range content.Classes {
		names := map[string][]string{}
		for name, texts := range own.Definitions[class] {
			names[name] = slices.Clone(texts)
		}
		all.Definitions[class] = names
		if local(class) {
			continue
		}
		for name, texts := range whole.Definitions[class] {
			var add []string
			lost := false
			has := b.contents.Definitions[class][name]
			for _, text := range texts {
				switch {
				case slices.Contains(names[name], text):
				case slices.Contains(has, text), class == content.Forward && b.defines(own, text),
					// In DWARF, an enum without enumerators is a declaration.
					class == content.Enum && strings.HasSuffix(text, "{ }") && len(has)+len(names[name]) > 0:
					add = append(add, text)
				default:
					lost = true
				}
			}
			if lost {
				add = append(add, has...)
			}
			if names[name] = append(names[name], add...); len(names[name]) == 0 {
				delete(names, name)
			}
		}
	}
	return all
}

// defines reports whether the base or the split BTF defines a tag, such as "struct foo".
func (b *kernelBase) defines(own *content.Contents, tag string) bool {
	class, name, _ := strings.Cut(tag, " ")
	return b.contents.Definitions[content.Class(class)][name] != nil ||
		own.Definitions[content.Class(class)][name] != nil
}

// local reports whether a module always has its own definitions of a class, even if the base has
// equal definitions.
func local(class content.Class) bool {
	return class == content.Func || class == content.Var || class == content.Section
}

// match compares the roots of the whole BTF with ours, and adds the differences that a comparison
// of texts can't find.
func (f *flattened) match() {
	candidates := map[btf.Type][]int{} // maps each root to the pairs that contain it
	for _, w := range f.whole.roots {
		k := f.whole.key(w)
		others := f.own.named[k]
		if !local(k.class) {
			others = slices.Concat(others, f.base.named[k])
		}
		for _, o := range others {
			at := f.add(pair{w, o})
			candidates[w], candidates[o] = append(candidates[w], at), append(candidates[o], at)
		}
	}
	f.settle()
	isSame := func(at int) bool { return !f.pairs[at].differs }
	inBase := func(at int) bool { return isSame(at) && f.base.nodes[f.pairs[at].ours] != nil }
	for _, w := range f.whole.roots {
		f.types++
		if f.found[w] = slices.ContainsFunc(candidates[w], isSame); !f.found[w] {
			continue
		}
		if slices.ContainsFunc(candidates[w], inBase) {
			f.inBase++
		} else {
			f.inOwn++
		}
	}
	for _, w := range f.whole.roots {
		if !f.found[w] {
			f.explain(w, candidates[w], compare.OnlyOracle)
		}
	}
	for _, o := range f.own.roots {
		if !slices.ContainsFunc(candidates[o], isSame) {
			f.explain(o, candidates[o], compare.OnlyOurs)
		}
	}
	for _, p := range f.pairs {
		if t := content.Tag(p.whole); t != "" && t == content.Tag(p.ours) && f.onlyDeclared(p.pair) {
			f.declared[t] = true
		}
	}
	if f.indirect > 0 && len(f.Differences) == 0 {
		f.Differences = append(f.Differences, compare.Difference{Class: content.Nameless,
			Kind: compare.Leads, Name: "types that differ for an unknown reason"})
	}
}

const (
	reasonUnused    = "the type has no name, and nothing that is encoded refers to it"
	reasonAmbiguous = "the type leads to a tag that has several definitions in different units"
)

// explain adds a difference for a type that equals none of its candidates, and sets the
// difference's reason, if one is known.
func (f *flattened) explain(t btf.Type, candidates []int, kind compare.Kind) {
	class, name := content.NameOf(t)
	d := compare.Difference{Class: class, Kind: compare.Leads, Name: name}
	equal, told := false, false
	for _, at := range candidates {
		if !f.pairs[at].sameText() {
			continue // the comparison of texts has reported this difference
		}
		equal = true
		for _, lead := range f.leads(at) {
			p := f.pairs[lead]
			told = told || !f.known(p.whole)
			d.Ours = append(d.Ours, "leads to "+content.Text(p.ours))
			d.Oracle = append(d.Oracle, "leads to "+content.Text(p.whole))
			if len(f.whole.named[f.whole.key(p.whole)]) > 1 {
				d.Reason = reasonAmbiguous
			}
		}
	}
	switch {
	case equal && (told || len(d.Ours) == 0):
		f.indirect++
		return
	case equal:
	case name != "":
		return // the comparison of texts has reported this difference
	default:
		d.Class, d.Kind = content.Nameless, kind
		if kind == compare.OnlyOurs {
			d.Ours = []string{content.Text(t)}
		} else if d.Oracle = []string{content.Text(t)}; class != content.Enum {
			d.Reason = reasonUnused
		}
	}
	f.Differences = append(f.Differences, d)
}

// leads returns the pairs that cause a pair to differ: the pair leads to them, and their texts
// differ. It doesn't follow references from a named type that has no equal, because such a type is
// reported separately.
func (f *flattened) leads(at int) (list []int) {
	seen := map[int]bool{at: true}
	work := []int{at}
	for len(work) > 0 {
		i := work[0]
		work = work[1:]
		for _, kid := range f.pairs[i].kids {
			p := &f.pairs[kid]
			switch {
			case seen[kid] || !p.differs:
			case !p.sameText():
				list = append(list, kid)
			case p.whole.TypeName() == "" || f.found[p.whole]:
				work = append(work, kid)
			}
			seen[kid] = true
		}
	}
	return list
}

// known reports whether the split BTF or its base has a definition with the same text as the type w
// in the whole BTF.
func (f *flattened) known(w btf.Type) bool {
	k := f.whole.key(w)
	return slices.ContainsFunc(slices.Concat(f.own.named[k], f.base.named[k]), func(o btf.Type) bool {
		return content.Text(o) == content.Text(w)
	})
}
