package random

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/e2e/internal/content"
)

// classes numbers the types in all specs by the coarsest bisimulation: two types have the same
// number if and only if nothing distinguishes them, at any depth.
func classes(specs ...[]btf.Type) map[btf.Type]int {
	texts, refs := map[btf.Type]string{}, map[btf.Type][]btf.Type{}
	var order []btf.Type
	var add func(t btf.Type)
	add = func(t btf.Type) {
		if _, ok := texts[t]; ok {
			return
		}
		order = append(order, t)
		texts[t], refs[t] = content.Shape(t)
		for _, r := range refs[t] {
			add(r)
		}
	}
	for _, all := range specs {
		for _, t := range all {
			add(t)
		}
	}
	class := map[btf.Type]int{}
	for count := 0; ; {
		next, numbers := map[btf.Type]int{}, map[string]int{}
		for _, t := range order {
			var key strings.Builder
			key.WriteString(texts[t])
			for _, r := range refs[t] {
				fmt.Fprintf(&key, " %d", class[r])
			}
			n, ok := numbers[key.String()]
			if !ok {
				n = len(numbers)
				numbers[key.String()] = n
			}
			next[t] = n
		}
		class = next
		if len(numbers) == count {
			return class
		}
		count = len(numbers)
	}
}

// placed reports whether t is a variable or a section. Unlike types, these may have equal twins.
func placed(t btf.Type) bool {
	switch t.(type) {
	case *btf.Var, *btf.Datasec:
		return true
	}
	return false
}

// checkTwins checks that no two types in the result are equal.
func checkTwins(b *Build) error { return twins(nil, b.types()) }

func (b *Build) types() []btf.Type { return b.oneShot().types() }

// twins returns an error if a type in own equals another type in own or a type in base. A function
// in own may equal a function in base.
func twins(base, own []btf.Type) error {
	class := classes(base, own)
	first := map[int]btf.Type{}
	var found []string
	for _, t := range base {
		first[class[t]] = t
	}
	for _, t := range own {
		if placed(t) {
			continue
		}
		other, ok := first[class[t]]
		if _, function := t.(*btf.Func); ok && function && len(base) > 0 {
			continue
		}
		if ok {
			found = append(found, content.Text(other))
		}
		first[class[t]] = t
	}
	if len(found) > 0 {
		return errors.New("there are equal types:\n" + strings.Join(found, "\n"))
	}
	return nil
}
