package verify

import "github.com/rules-btf/rules_btf/internal/btf"

// contents finds structs, unions and arrays that contain themselves. The resolver finds most; like
// the kernel it misses those behind a modifier that was first reached through a pointer.
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
			id, ok := r.content(&r.b.Types[at], v.next)
			if !ok || r.state[at] == broken {
				seen[at] = finite
				path = path[:len(path)-1]
				continue
			}
			v.next++
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

// holds says whether a kind contains others by value, or stands for one.
func holds(k btf.Kind) bool { return k.IsComposite() || k == btf.KindArray || k.IsModifier() }

// content is the n-th type that a type contains by value.
func (r *resolver) content(t *btf.Type, n uint32) (id uint32, ok bool) {
	switch {
	case t.Kind.IsComposite():
		if n < t.Vlen {
			return r.b.Members[t.First+n].Type, true
		}
	case n > 0:
	case t.Kind == btf.KindArray:
		return r.b.ArrayOf(t).Elem, true
	default:
		return t.SizeOrType, true
	}
	return 0, false
}
