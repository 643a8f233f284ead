package kabi

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/refine"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// reached knows how symbols lead to the types of a reduced blob.
type reached struct {
	*btf.Blob
	symbols []uint32 // the ids of functions and variables, by name
	parent  []uint32 // by id: the type before it on the shortest path from a symbol, or 0
	element []int    // by id: the number of the reference that leads from parent to it
	known   []bool   // by id
	counts  []int    // by id: how many symbols reach it; nil if not yet known
}

func newReached(b *btf.Blob) *reached {
	n := b.EndID()
	r := &reached{Blob: b, parent: make([]uint32, n), element: make([]int, n), known: make([]bool, n)}
	for id, t := range b.All() {
		if t.Kind == btf.KindFunc || t.Kind == btf.KindVar {
			r.symbols = append(r.symbols, id)
		}
	}
	slices.SortFunc(r.symbols, func(x, y uint32) int {
		return cmp.Or(cmp.Compare(r.nameOf(x), r.nameOf(y)), cmp.Compare(x, y))
	})
	for level := r.symbols; len(level) > 0; {
		var next []uint32
		for _, id := range level {
			next = r.step(id, next)
		}
		level = next
	}
	return r
}

func (r *reached) at(id uint32) *btf.Type  { return &r.Types[id-r.StartID] }
func (r *reached) nameOf(id uint32) string { return r.TypeName(r.at(id)) }

// names returns the names of the symbols.
func (r *reached) names() map[string]bool {
	all := map[string]bool{}
	for _, id := range r.symbols {
		all[r.nameOf(id)] = true
	}
	return all
}

// isStep reports whether a path shows the type.
func (r *reached) isStep(id uint32) bool {
	t := r.at(id)
	return t.NameOff != 0 && (t.Kind.IsComposite() || t.Kind.IsEnum() || t.Kind == btf.KindFwd)
}

// step visits the types between a type and the next ones that a path shows, and appends the latter
// to next.
func (r *reached) step(from uint32, next []uint32) []uint32 {
	r.known[from] = true
	for todo := []uint32{from}; len(todo) > 0; {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		at, i := len(todo), 0
		for ref := range r.Refs(r.at(id)) {
			if to := *ref; to != 0 && !r.known[to] {
				r.known[to], r.parent[to], r.element[to] = true, id, i
				if r.isStep(to) {
					next = append(next, to)
				} else {
					todo = append(todo, to)
				}
			}
			i++
		}
		slices.Reverse(todo[at:]) // in the order of the record
	}
	return next
}

// path writes the shortest path from a symbol to a type, as in "netif_rx → struct sk_buff.sk →
// struct sock". Of several, it is the one from the first symbol by name. For a symbol, it is the
// name.
// Rule: kABI: paths from symbols.
func (r *reached) path(id uint32) string {
	var ids []uint32
	for at := id; at != 0; at = r.parent[at] {
		ids = append(ids, at)
	}
	slices.Reverse(ids)
	text := message.Printable(r.nameOf(ids[0]))
	for i, to := range ids[1:] {
		if from := r.at(ids[i]); from.Kind.IsComposite() {
			name, _ := r.Name(r.MembersOf(from)[r.element[to]].NameOff)
			if name != "" {
				text += "." + message.Printable(name)
			}
		}
		if r.isStep(to) || to == id {
			text += " → " + message.Printable(r.stepText(to))
		}
	}
	return text
}

// stepText is a step of a path.
func (r *reached) stepText(id uint32) string {
	t := r.at(id)
	if t.Kind != btf.KindFwd {
		return strings.TrimSpace(title(r.Blob, t))
	}
	kind := "struct "
	if t.KFlag {
		kind = "union "
	}
	return kind + r.nameOf(id)
}

// count returns how many symbols reach a type.
func (r *reached) count(id uint32) int {
	if r.counts == nil {
		r.countAll()
	}
	return r.counts[id]
}

// countAll counts, 64 symbols at a time, the symbols that reach each strongly connected component
// of types.
func (r *reached) countAll() {
	r.counts = make([]int, r.EndID())
	of := make([]int32, r.EndID())
	var components [][]uint32 // those that a component refers to come before it
	refine.Components(len(r.Types), func(n int32, buf []int32) []int32 {
		for ref := range r.Refs(&r.Types[n]) {
			if *ref != 0 {
				buf = append(buf, int32(*ref-r.StartID))
			}
		}
		return buf
	}, func(nodes []int32) {
		ids := make([]uint32, len(nodes))
		for i, n := range nodes {
			ids[i] = r.StartID + uint32(n)
			of[ids[i]] = int32(len(components))
		}
		components = append(components, ids)
	})
	leads := make([][]int32, len(components)) // to which other components
	for c, ids := range components {
		for _, id := range ids {
			for ref := range r.Refs(r.at(id)) {
				if *ref != 0 && of[*ref] != int32(c) {
					leads[c] = append(leads[c], of[*ref])
				}
			}
		}
		slices.Sort(leads[c])
		leads[c] = slices.Compact(leads[c])
	}
	var groups [][]uint32 // the symbols by name: a function may have several prototypes
	for i, id := range r.symbols {
		if i > 0 && r.nameOf(id) == r.nameOf(r.symbols[i-1]) {
			groups[len(groups)-1] = append(groups[len(groups)-1], id)
			continue
		}
		groups = append(groups, []uint32{id})
	}
	total := make([]int, len(components))
	masks := make([]uint64, len(components))
	for batch := range slices.Chunk(groups, 64) {
		clear(masks)
		for i, ids := range batch {
			for _, id := range ids {
				masks[of[id]] |= 1 << i
			}
		}
		for c := len(components) - 1; c >= 0; c-- {
			if masks[c] == 0 {
				continue
			}
			total[c] += bits.OnesCount64(masks[c])
			for _, to := range leads[c] {
				masks[to] |= masks[c]
			}
		}
	}
	for c, ids := range components {
		for _, id := range ids {
			r.counts[id] = total[c]
		}
	}
}
