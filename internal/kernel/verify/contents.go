package verify

import "github.com/rules-btf/rules_btf/internal/format/btf"

// contents finds structs, unions and arrays that contain themselves. The descents of the resolver
// find most of them. But like the kernel, they miss loops through a modifier that was first
// resolved by following a pointer.
// Rule: types that contain themselves by value. In the final BTF.
func (r *resolver) contents() {
	const (
		unseen = iota
		onPath
		finite
	)
	seen := make([]uint8, len(r.b.Types))
	var path []vertex
	for i := range r.b.Types {
		if seen[i] != unseen || !holds(r.b.Types[i].Kind) {
			continue
		}
		path = append(path[:0], vertex{id: r.b.StartID + uint32(i)})
		seen[i] = onPath
		for len(path) > 0 {
			v := &path[len(path)-1]
			at := v.id - r.b.StartID
			t := &r.b.Types[at]
			ref := r.b.Ref(t, v.next)
			if ref == nil || isIndex(t, v.next) || r.state[at] == broken {
				seen[at] = finite
				path = path[:len(path)-1]
				continue
			}
			v.next++
			id := *ref
			if id < r.b.StartID || id >= r.b.EndID() || !holds(r.b.Types[id-r.b.StartID].Kind) {
				continue
			}
			switch to := id - r.b.StartID; seen[to] {
			case unseen:
				seen[to] = onPath
				path = append(path, vertex{id: id})
			case onPath:
				r.report(v.id, "loop", "it contains itself through type [%d]", id)
				r.state[at] = broken
			}
		}
	}
}

// holds reports whether a kind contains other types by value, or modifies one.
func holds(k btf.Kind) bool { return k.IsComposite() || k == btf.KindArray || k.IsModifier() }

// isIndex reports whether the n-th reference in t is to the index type of an array.
func isIndex(t *btf.Type, n uint32) bool { return t.Kind == btf.KindArray && n == 1 }
