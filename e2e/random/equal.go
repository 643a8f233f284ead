package random

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/cilium/ebpf/btf"
)

// loadBTF reads raw BTF through cilium/ebpf. base may be nil.
func loadBTF(data []byte, base *btf.Spec) (*btf.Spec, error) {
	if base == nil {
		return btf.LoadSpecFromReader(bytes.NewReader(data))
	}
	return btf.LoadSplitSpecFromReader(bytes.NewReader(data), base)
}

// allTypes are the types of spec without those of its base.
func allTypes(spec *btf.Spec) ([]btf.Type, error) {
	var all []btf.Type
	for t, err := range spec.All() {
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// parts are what a type says by itself, and the types that it refers to.
func parts(t btf.Type) (string, []btf.Type) {
	head := fmt.Sprintf("%T %s", t, t.TypeName())
	member := func(members []btf.Member) (refs []btf.Type) {
		for _, m := range members {
			head += fmt.Sprintf(" %s@%d:%d%q", m.Name, m.Offset, m.BitfieldSize, m.Tags)
			refs = append(refs, m.Type)
		}
		return refs
	}
	switch t := t.(type) {
	case *btf.Int:
		return fmt.Sprint(head, t.Size, t.Encoding), nil
	case *btf.Float:
		return fmt.Sprint(head, t.Size), nil
	case *btf.Pointer:
		return head, []btf.Type{t.Target}
	case *btf.Array:
		return fmt.Sprint(head, t.Nelems), []btf.Type{t.Index, t.Type}
	case *btf.Struct:
		head += fmt.Sprint(" size=", t.Size, t.Tags)
		refs := member(t.Members)
		return head, refs
	case *btf.Union:
		head += fmt.Sprint(" size=", t.Size, t.Tags)
		refs := member(t.Members)
		return head, refs
	case *btf.Enum:
		return fmt.Sprint(head, t.Size, t.Signed, t.Values), nil
	case *btf.Fwd:
		return fmt.Sprint(head, t.Kind), nil
	case *btf.Typedef:
		return fmt.Sprint(head, t.Tags), []btf.Type{t.Type}
	case *btf.Volatile:
		return head, []btf.Type{t.Type}
	case *btf.Const:
		return head, []btf.Type{t.Type}
	case *btf.Restrict:
		return head, []btf.Type{t.Type}
	case *btf.TypeTag:
		return head + t.Value, []btf.Type{t.Type}
	case *btf.Func:
		return fmt.Sprint(head, t.Linkage, t.Tags, t.ParamTags), []btf.Type{t.Type}
	case *btf.FuncProto:
		refs := []btf.Type{t.Return}
		for _, p := range t.Params {
			head += " " + p.Name + ","
			refs = append(refs, p.Type)
		}
		return head, refs
	case *btf.Var:
		return fmt.Sprint(head, t.Linkage, t.Tags), []btf.Type{t.Type}
	case *btf.Datasec:
		var refs []btf.Type
		for _, v := range t.Vars {
			head += fmt.Sprintf(" %d+%d", v.Offset, v.Size)
			refs = append(refs, v.Type)
		}
		return head, refs
	}
	return head, nil
}

// classes are the types of all specs under the coarsest bisimulation: two types have one number if
// nothing tells them from each other, however deep one looks.
func classes(specs ...[]btf.Type) map[btf.Type]int {
	heads, refs := map[btf.Type]string{}, map[btf.Type][]btf.Type{}
	var order []btf.Type
	var add func(t btf.Type)
	add = func(t btf.Type) {
		if t == nil {
			t = (*btf.Void)(nil)
		}
		if _, ok := heads[t]; ok {
			return
		}
		order = append(order, t)
		if _, void := t.(*btf.Void); void {
			heads[t] = "void"
			return
		}
		heads[t], refs[t] = parts(t)
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
			key.WriteString(heads[t])
			for _, r := range refs[t] {
				if r == nil {
					r = (*btf.Void)(nil)
				}
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

// placed says whether t has a place, so that there may be two of one content.
func placed(t btf.Type) bool {
	switch t.(type) {
	case *btf.Var, *btf.Datasec:
		return true
	}
	return false
}

// describe names a type for a message.
func describe(t btf.Type) string {
	head, refs := parts(t)
	head = strings.TrimPrefix(head, "*btf.")
	var names []string
	for _, r := range refs {
		name := "void"
		for depth := 0; r != nil && depth < 4; depth++ {
			inner := []btf.Type(nil)
			if name = strings.TrimPrefix(fmt.Sprintf("%T", r), "*btf.") + " " +
				r.TypeName(); r.TypeName() == "" {
				_, inner = parts(r)
			}
			if len(inner) == 0 {
				break
			}
			r = inner[len(inner)-1]
		}
		names = append(names, strings.TrimSpace(name))
	}
	return strings.TrimSpace(head + " -> " + strings.Join(names, ", "))
}

// checkTwins: no two types of the result are equal.
func checkTwins(b *Build) error {
	spec, err := b.oneShotBTF()
	if err != nil {
		return err
	}
	return twins(nil, spec)
}

func (b *Build) oneShotBTF() ([]btf.Type, error) {
	name, err := b.OneShot()
	if err != nil {
		return nil, err
	}
	data, err := b.read(name)
	if err != nil {
		return nil, err
	}
	spec, err := loadBTF(data, nil)
	if err != nil {
		return nil, fmt.Errorf("cilium/ebpf: %w", err)
	}
	return allTypes(spec)
}

// twins is an error if a type of own equals another one, or one of the base. A module's functions
// may have twins there.
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
			found = append(found, describe(other))
		}
		first[class[t]] = t
	}
	if len(found) > 0 {
		return errors.New("there are equal types:\n" + strings.Join(found, "\n"))
	}
	return nil
}
