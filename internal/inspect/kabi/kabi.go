// Package kabi compares the kABI of two kernels: the exported symbols, and the types that they
// reach. It finds out which changes are compatible with modules that were compiled for the old
// kernel.
//
// As an example, module code calls netif_rx. In B, struct sock has one more member at its end, and
// in struct sk_buff, a member has moved:
//
//	netif_rx → struct sk_buff                     incompatible: len: in a different place
//	netif_rx → struct sk_buff.sk → struct sock    compatible: larger, but …
//
// [Compare] makes these steps:
//
//  1. [Kernel.Reduce] (reduce.go) makes a blob for each side that has only the symbols and the
//     types that they reach. This blob is also what a reference file holds.
//  2. Package diff compares the two blobs.
//  3. The judge (rules.go, layout.go, same.go) decides for each change whether it is compatible.
//  4. The allowances of the user (allow.go) are applied.
//  5. For each difference, the shortest path from a symbol is found (paths.go).
package kabi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Options chooses what is compared.
type Options struct {
	Symbols []Symbol
	Allow   []Allowance
	Diff    diff.Options
}

// Compare compares two kernels. Of the differences in the result, the incompatible ones come first,
// then the allowed ones, then the compatible ones. The parameter names says what to call A and B in
// errors.
func Compare(a, b Kernel, names [2]string, opts Options) (*Report, diff.Result, error) {
	r := newReport(opts.Allow)
	r.Missing = []string{}
	if r.Allowances == nil {
		r.Allowances = []Allowance{}
	}
	var sides [2]*reached
	for i, k := range [2]Kernel{a, b} {
		blob, err := r.reduce(k, opts.Symbols)
		if err != nil {
			return nil, diff.Result{}, fmt.Errorf("%s: %w", names[i], err)
		}
		sides[i] = newReached(blob)
	}
	r.countSymbols(opts.Symbols, sides)
	o := opts.Diff
	o.Indirect = true // their changes are checked
	list, summary := diff.Compare(diff.Side{sides[0].Blob}, diff.Side{sides[1].Blob}, o)
	j := newJudge(sides[0].Blob, sides[1].Blob)
	list = j.differences(list, opts.Diff.Indirect)
	for i := range list {
		d := &list[i]
		if d.Class == diff.Indirect {
			continue
		}
		side, id := sides[0], d.IDs()[0]
		if id == 0 {
			side, id = sides[1], d.IDs()[1]
		}
		d.Path, d.Symbols = side.path(id), side.count(id)
		r.allow(d)
		switch {
		case d.Compatible:
			r.Compatible++
			if slices.ContainsFunc(d.Changes, func(c diff.Change) bool { return c.Kind == diff.Size }) {
				r.Larger++
			}
		case d.Allowed != "":
			r.Allowed++
		default:
			r.Incompatible++
		}
	}
	slices.SortStableFunc(list, func(x, y diff.Difference) int { return rank(&x) - rank(&y) })
	return r, diff.Result{Differences: list, Summary: summary}, nil
}

// Reference reduces a kernel to what a reference file holds. Of the report, only the symbols and
// the allowances are filled in.
func Reference(k Kernel, list []Symbol, allow []Allowance) (*btf.Blob, *Report, error) {
	r := newReport(allow)
	b, err := r.reduce(k, list)
	if err != nil {
		return nil, nil, err
	}
	side := newReached(b)
	r.countSymbols(list, [2]*reached{side, side})
	return b, r, nil
}

// SymbolsOf returns the symbols of a reference.
func SymbolsOf(reference *btf.Blob) (list []Symbol) {
	for name := range newReached(reference).names() {
		list = append(list, Symbol{Name: name})
	}
	slices.SortFunc(list, func(a, b Symbol) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// reduce reduces a kernel; it is an error if no symbol has BTF.
func (r *Report) reduce(k Kernel, list []Symbol) (*btf.Blob, error) {
	b, err := k.Reduce(list, r.declare)
	if err == nil && b == nil {
		err = fmt.Errorf("none of %s has BTF; is this the list for this kernel?",
			message.Count(len(list), "symbol"))
	}
	return b, err
}

// rank sorts differences.
func rank(d *diff.Difference) int {
	switch {
	case d.Class == diff.Indirect:
		return 3
	case d.Compatible:
		return 2
	case d.Allowed != "":
		return 1
	}
	return 0
}

// differences judges the differences, and leaves out those that are only consequences of others:
// types that only one side reaches, and, unless indirect is set, the Indirect ones.
func (j *judge) differences(all []diff.Difference, indirect bool) []diff.Difference {
	broken := map[uint32]bool{} // ids of types in A that differ incompatibly
	var list, followUps []diff.Difference
	for _, d := range all {
		id := d.IDs()[0]
		symbol := d.Kind == "func" || d.Kind == "var"
		switch {
		case d.Class == diff.Indirect:
			if !d.Compatible && id != 0 {
				broken[id] = true
			}
			followUps = append(followUps, d)
			continue
		case (d.Class == diff.OnlyA || d.Class == diff.OnlyB) && d.Note == "" && !symbol,
			d.Class == diff.Forward && len(d.Changes) == 0:
			continue
		}
		j.difference(&d)
		if !d.Compatible && id != 0 {
			broken[id] = true
		}
		list = append(list, d)
	}
	for _, d := range followUps {
		switch {
		case !d.Compatible && !j.follows(&d, broken):
			d.Class, d.Because = diff.Differs, ""
			list = append(list, d)
		case indirect:
			list = append(list, d)
		}
	}
	return list
}

// follows reports whether the changes of an Indirect difference follow from an incompatible
// difference of a type that it contains.
func (j *judge) follows(d *diff.Difference, broken map[uint32]bool) bool {
	for _, c := range d.Changes {
		id := c.Part.Types[0]
		for range btf.MaxModifiers {
			t, _ := j.a.ByID(id)
			if t == nil {
				break
			}
			if broken[id] && id != d.IDs()[0] {
				return true
			}
			switch {
			case t.Kind == btf.KindArray:
				id = j.a.ArrayOf(t).Elem
			case t.Kind.IsModifier():
				id = t.SizeOrType
			default:
				id = 0
			}
		}
	}
	return false
}
