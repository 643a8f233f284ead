package random

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/e2e/internal/content"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// sameTypes returns an error unless two results have the same types. It ignores sections.
func sameTypes(a, b result) error {
	if left, right := oneSided(a, b); len(left)+len(right) > 0 {
		return errors.New(sides(a, left, b, right))
	}
	return nil
}

func difference(a, b result) string {
	if err := harness.Caught(func() error { return sameTypes(a, b) }); err != nil {
		return err.Error()
	}
	return "both results have the same types, but in different encodings"
}

func sides(a result, left []string, b result, right []string) string {
	const most = 12
	list := func(r result, only []string) string {
		s := fmt.Sprintf("only in the result of %s: %d types\n", r.way, len(only))
		for _, line := range only[:min(most, len(only))] {
			s += "  " + line + "\n"
		}
		return s
	}
	return list(a, left) + list(b, right)
}

// spec lets cilium/ebpf read the BTF in a result, which may be a BTF object.
func (r result) spec() *btf.Spec {
	spec, err := content.Read(bytes.NewReader(r.bytes), nil)
	if err != nil {
		harness.Check(fmt.Errorf("%s: cilium/ebpf: %w", r.way, err))
	}
	return spec
}

func (r result) types() []btf.Type { return harness.Get(content.Types(r.spec())) }

func oneSided(a, b result) (left, right []string) {
	all := [2][]btf.Type{a.types(), b.types()}
	class := classes(all[0], all[1])
	count := map[int]int{} // for each class: the number of types in a, minus the number in b
	for _, t := range all[0] {
		count[class[t]]++
	}
	for _, t := range all[1] {
		count[class[t]]--
	}
	only := func(types []btf.Type, more int) (list []string) {
		for _, t := range types {
			if _, section := t.(*btf.Datasec); !section && count[class[t]]*more > 0 {
				count[class[t]] -= more
				list = append(list, content.Text(t))
			}
		}
		slices.Sort(list)
		return list
	}
	return only(all[0], 1), only(all[1], -1)
}
