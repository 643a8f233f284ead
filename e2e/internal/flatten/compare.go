// Package flatten compares split BTF of a module with BTF of the same module that has no base. The
// split BTF and its base, taken together, must have all that the other one has, and the split BTF
// alone nothing that the other one has not.
//
// Definitions are compared twice: by what they say (package content), where a type that is referred
// to is its kind and name; and by what they mean, where it must be the same type, as deep as it
// goes (relation.go). The second way tells definitions of one name apart.
//
// Where the whole BTF only declares a tag, any definition of it is the same. Where the base only
// declares a tag that the module defines, so is that declaration, because a base can't refer to
// what is based on it.
package flatten

import (
	"slices"
	"strings"

	"github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/e2e/internal/compare"
	"github.com/rules-btf/rules_btf/e2e/internal/content"
)

// Base is the BTF that split BTF is based on. It is not for several goroutines.
type Base struct {
	spec     *btf.Spec
	contents *content.Contents
	side     *side
}

// ReadBase reads raw BTF, or an ELF file's.
func ReadBase(path string) (*Base, error) {
	spec, err := content.Open(path, nil)
	if err != nil {
		return nil, err
	}
	b := &Base{spec: spec}
	if b.side, err = read(spec); err != nil {
		return nil, err
	}
	b.contents, err = content.Of(spec)
	return b, err
}

// Result is a comparison. Ours is the split BTF, the oracle the whole.
type Result struct {
	*compare.Result
	Contents *content.Contents // of the split BTF

	// Types of the whole BTF that were compared, and how many of them are the same as one of the
	// base, or else of the split BTF.
	Types, Base, Own int
	// Types that differ only because a type that they lead to does.
	Indirect int
	// Tags that the base only declares, where the whole BTF has the definition.
	Declared int
}

// Compare compares two files.
func (b *Base) Compare(split, whole string) (*Result, error) {
	ours, err := content.Open(split, b.spec)
	if err != nil {
		return nil, err
	}
	theirs, err := content.Open(whole, nil)
	if err != nil {
		return nil, err
	}
	r := &Result{}
	if r.Contents, err = content.Of(ours); err != nil {
		return nil, err
	}
	wholeContents, err := content.Of(theirs)
	if err != nil {
		return nil, err
	}
	r.Result = compare.Contents(b.join(r.Contents, wholeContents), wholeContents)

	m := matcher{Result: r, relation: relation{base: b.side, index: map[pair]int{}}}
	if m.own, err = read(ours); err != nil {
		return nil, err
	}
	if m.whole, err = read(theirs); err != nil {
		return nil, err
	}
	m.match()
	return r, nil
}

// join returns what the split BTF defines, and of the base what the whole BTF has too. Where a name
// has a definition that neither has, all that the base has of that name are added, to show them.
func (b *Base) join(own, whole *content.Contents) *content.Contents {
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
					class == content.Enum && declared(text) && len(has)+len(names[name]) > 0:
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

// declared reports whether the text of an enum has no constants: DWARF's word for a declaration.
func declared(enum string) bool { return strings.HasSuffix(enum, "{ }") }

// local reports whether definitions of a class are the module's own, even if the base has equal
// ones.
func local(class content.Class) bool {
	return class == content.Func || class == content.Var || class == content.Section
}

// defines reports whether the base or the split BTF define a tag, "struct foo".
func (b *Base) defines(own *content.Contents, tag string) bool {
	for _, c := range []*content.Contents{b.contents, own} {
		for _, class := range []content.Class{content.Struct, content.Union} {
			prefix := string(class) + " "
			if len(tag) > len(prefix) && tag[:len(prefix)] == prefix &&
				c.Definitions[class][tag[len(prefix):]] != nil {
				return true
			}
		}
	}
	return false
}
