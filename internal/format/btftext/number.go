package btftext

import (
	"cmp"
	"errors"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// maxRefinement limits the work of number, in references.
const maxRefinement = 1 << 27

// variant is a type whose class and name other types have, too.
type variant struct {
	key   key
	order int // of its kind in the text
	text  string
	refs  []uint32 // the variants to which the text refers, by number
}

// number gives a number to each type whose class and name other types have too. Types of equal
// content get the same number. The numbers depend only on content: they are in the order of the
// texts of the types and, where these are equal, of the numbers of types to which they refer.
func (p *printer) number() error {
	variants, ids := p.variants()
	if p.err != nil {
		return p.err
	}
	sorted, rank, err := sortVariants(variants)
	if err != nil {
		return err
	}
	last := map[key]struct{ rank, number uint32 }{}
	for _, v := range sorted {
		at := last[variants[v].key]
		if at.number == 0 || at.rank != rank[v] {
			at.rank, at.number = rank[v], at.number+1
			last[variants[v].key] = at
		}
		p.numbers[ids[v]] = at.number
	}
	return nil
}

// sortVariants sorts the numbers of variants. The rank of a variant is the index in sorted at which
// the variants begin that are equal to it.
//
// The variants are first sorted by their texts. Then, again and again, those of equal rank are
// sorted by the ranks of the variants to which they refer, until no more of them differ.
func sortVariants(variants []variant) (sorted, rank []uint32, err error) {
	sorted, rank = make([]uint32, len(variants)), make([]uint32, len(variants))
	for i := range sorted {
		sorted[i] = uint32(i)
	}
	split := sortRun(sorted, 0, rank, func(a, b uint32) int {
		v, w := &variants[a], &variants[b]
		return cmp.Or(cmp.Compare(v.order, w.order), cmp.Compare(v.text, w.text))
	})
	work := 0
	for split {
		split = false
		next := slices.Clone(rank)
		byRank := func(v, w uint32) int { return cmp.Compare(rank[v], rank[w]) }
		for start := 0; start < len(sorted); {
			end := start + 1
			for end < len(sorted) && rank[sorted[end]] == rank[sorted[start]] {
				end++
			}
			if run := sorted[start:end]; len(run) > 1 {
				work += len(run) * (1 + len(variants[run[0]].refs))
				split = sortRun(run, start, next, func(a, b uint32) int {
					return slices.CompareFunc(variants[a].refs, variants[b].refs, byRank)
				}) || split
			}
			start = end
		}
		if rank = next; work > maxRefinement {
			return nil, nil, errors.New("too many types have equal names; merge equal types with " +
				"btfdedup link")
		}
	}
	return sorted, rank, nil
}

// sortRun sorts a run that begins at index start, and ranks its elements. It reports whether some
// elements differ.
func sortRun(run []uint32, start int, rank []uint32, compare func(a, b uint32) int) bool {
	slices.SortFunc(run, compare)
	first := 0
	for i, v := range run {
		if compare(run[first], v) != 0 {
			first = i
		}
		rank[v] = uint32(start + first)
	}
	return first > 0
}

// variants returns the types whose class and name other types have too, and their ids.
func (p *printer) variants() (variants []variant, ids []uint32) {
	first := map[key]uint32{}
	for id := range p.blob.EndID() {
		t, _ := p.blob.ByID(id)
		if t == nil {
			continue
		}
		k, ok := p.key(t)
		if !ok {
			continue
		}
		if other, ok := first[k]; ok {
			p.several[id], p.several[other] = true, true
		} else {
			first[k] = id
		}
	}
	numbers := map[uint32]uint32{} // of variants, by id
	for id := range p.blob.EndID() {
		if p.several[id] {
			numbers[id] = uint32(len(ids))
			ids = append(ids, id)
		}
	}
	total := 0
	for _, id := range ids {
		t, o := p.blob.ByID(id)
		k, _ := p.key(t)
		p.out, p.refs = p.out[:0], nil
		p.define(id, t, o)
		if total += len(p.out); total > maxText {
			p.fail(id, tooLong)
		}
		if p.err != nil {
			break
		}
		for i, ref := range p.refs {
			p.refs[i] = numbers[ref]
		}
		variants = append(variants, variant{k, rank(t), string(p.out), p.refs})
	}
	p.out, p.refs = nil, nil
	return variants, ids
}

// key returns what references to a type consist of, without a number. For types that are not
// referred to by name, ok is false.
func (p *printer) key(t *btf.Type) (k key, ok bool) {
	if t == nil {
		return key{}, false
	}
	class, ok := classOf(t)
	name := p.name(t.NameOff)
	if !ok || name == "" && (t.Kind.IsComposite() || t.Kind.IsEnum()) {
		return key{}, false
	}
	return key{class: class, name: name}, true
}
