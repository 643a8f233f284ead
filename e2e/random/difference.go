package random

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf/btf"
)

// sameTypes is an error unless two results have the same types. Only sections may differ.
func sameTypes(a, b result) error {
	left, right, err := oneSided(a, b)
	if err != nil {
		return err
	}
	if len(left)+len(right) > 0 {
		return errors.New(sides(a, left, b, right))
	}
	return nil
}

// difference says how the types of two results differ.
func difference(a, b result) string {
	left, right, err := oneSided(a, b)
	switch {
	case err != nil:
		return err.Error()
	case len(left)+len(right) == 0:
		return "they have the same types in another form"
	}
	return sides(a, left, b, right)
}

func sides(a result, left []string, b result, right []string) string {
	const most = 12
	list := func(r result, only []string) string {
		s := fmt.Sprintf("only in that of %s: %d types\n", r.way, len(only))
		for _, line := range only[:min(most, len(only))] {
			s += "  " + line + "\n"
		}
		return s
	}
	return list(a, left) + list(b, right)
}

// oneSided returns the types that only one of two blobs has, sorted. They may be BTF objects.
func oneSided(a, b result) (left, right []string, err error) {
	var all [2][]btf.Type
	for i, r := range []result{a, b} {
		spec, err := loadBTF(r.bytes, nil)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: cilium/ebpf: %w", r.way, err)
		}
		if all[i], err = allTypes(spec); err != nil {
			return nil, nil, err
		}
	}
	class := classes(all[0], all[1])
	count := map[int]int{}
	for _, t := range all[1] {
		count[class[t]]++
	}
	for _, t := range all[0] {
		if _, section := t.(*btf.Datasec); section {
			continue
		}
		if count[class[t]]--; count[class[t]] < 0 {
			left = append(left, describe(t))
		}
	}
	for _, t := range all[1] {
		if _, section := t.(*btf.Datasec); section {
			continue
		}
		if count[class[t]] > 0 {
			count[class[t]]--
			right = append(right, describe(t))
		}
	}
	slices.Sort(left)
	slices.Sort(right)
	return left, right, nil
}
