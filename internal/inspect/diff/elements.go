package diff

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

func orAnon(name string) string { return message.Printable(cmp.Or(name, "(anon)")) }

func number(v uint64, signed bool) string {
	if signed {
		return fmt.Sprint(int64(v))
	}
	return fmt.Sprint(v)
}

// enumerators lists the differences between two enums.
func (w *walker) enumerators(a, b uint32, s spot) {
	if w.label[a] == w.label[b] {
		return
	}
	before := len(w.changes)
	t, u := w.nodes[a].typ, w.nodes[b].typ
	x, y := w.nodes[a].blob.EnumsOf(t), w.nodes[b].blob.EnumsOf(u)
	na, nb := w.elements(a, all), w.elements(b, all)
	to := match(na, nb)
	value := func(v uint64) uint64 { // as the bits that are stored
		if t.Kind == btf.KindEnum && t.KFlag != u.KFlag {
			return uint64(uint32(v))
		}
		return v
	}
	renamed := matchRest(to, len(nb), func(i int) string { return strconv.FormatUint(x[i].Value, 16) },
		func(j int) string { return strconv.FormatUint(y[j].Value, 16) })
	walkPairs(to, len(nb), func(i, j int) {
		where := func(name string) string { return joinPath(s.where, "enumerator "+orAnon(name)) }
		switch {
		case j < 0:
			w.put(Change{Kind: Removed, Where: where(na[i]),
				Before: &State{Text: number(x[i].Value, t.KFlag)}, Breaks: true}, true)
			return
		case i < 0:
			w.put(Change{Kind: Added, Where: where(nb[j]),
				After: &State{Text: number(y[j].Value, u.KFlag)}}, true)
			return
		case renamed[i]:
			w.add(Renamed, where(na[i]), orAnon(na[i]), orAnon(nb[j]), false)
		}
		if value(x[i].Value) != value(y[j].Value) {
			w.add(Value, where(na[i]), number(x[i].Value, t.KFlag), number(y[j].Value, u.KFlag), true)
		}
	})
	if t.KFlag != u.KFlag {
		w.add(Encoding, s.where, signWord(t), signWord(u), false)
	}
	if len(w.changes) == before && !inOrderAll(to) {
		w.reordered(s, "enumerators")
	}
	w.size(a, b, s.where)
}

func signWord(t *btf.Type) string {
	if t.KFlag {
		return "signed"
	}
	return "unsigned"
}

// parameters lists the differences between two prototypes.
func (w *walker) parameters(a, b uint32, s spot) {
	ka, kb := w.children(a), w.children(b)
	in := s
	in.where, in.types = joinPath(s.where, "return"), [2]uint32{ka[0], kb[0]}
	w.reference(ka[0], kb[0], in, false)
	if w.label[a] == w.label[b] {
		for i := range len(ka) - 1 {
			if w.content[ka[i+1]] != w.content[kb[i+1]] {
				in.where = parameterPath(s, i, w.element(a, i))
				in.types = [2]uint32{ka[i+1], kb[i+1]}
				w.reference(ka[i+1], kb[i+1], in, false)
			}
		}
		return
	}
	na, nb := w.elements(a, all), w.elements(b, all)
	to := match(na, nb)
	text := func(kids []uint32) func(i int) string {
		return func(i int) string { return fmt.Sprint(i, w.spell(kids[i+1])) }
	}
	renamed := matchRest(to, len(nb), text(ka), text(kb))
	if len(na) == len(nb) {
		renamed = matchPlaces(to, renamed)
	}
	ordered := inOrder(to)
	walkPairs(to, len(nb), func(i, j int) {
		switch {
		case j < 0:
			w.put(Change{Kind: Removed, Where: parameterPath(s, i, na[i]),
				Before: w.parameter(ka[i+1], na[i]), Breaks: true}, true)
			return
		case i < 0:
			w.put(Change{Kind: Added, Where: parameterPath(s, j, nb[j]),
				After: w.parameter(kb[j+1], nb[j]), Breaks: true}, true)
			return
		}
		in.where, in.types = parameterPath(s, i, na[i]), [2]uint32{ka[i+1], kb[j+1]}
		if renamed[i] {
			w.add(Renamed, in.where, orAnon(na[i]), orAnon(nb[j]), false)
		}
		w.reference(ka[i+1], kb[j+1], in, false)
		if !ordered[i] {
			w.put(Change{Kind: Moved, Where: in.where, Before: &State{Text: fmt.Sprint(i + 1)},
				After: &State{Text: fmt.Sprint(j + 1)}, Breaks: true}, true)
		}
	})
}

func parameterPath(s spot, i int, name string) string {
	part := fmt.Sprint("parameter ", i+1)
	if name != "" {
		part += " " + message.Printable(name)
	}
	return joinPath(s.where, part)
}

func (c *comparison) parameter(n uint32, name string) *State {
	if n == voidNode && name == "" {
		return &State{Text: "..."}
	}
	return &State{Text: c.declare(n, message.Printable(name), maxSpell)}
}

// entries lists the differences between two sections. Where a variable is in its section is of no
// consequence to code that was compiled for A.
func (w *walker) entries(a, b uint32, s spot) {
	sections := func(n uint32) (vars []field, sizes []string) {
		for i, e := range w.nodes[n].blob.SecinfosOf(w.nodes[n].typ) {
			vars = append(vars, field{name: w.element(n, i), node: w.children(n)[i],
				off: 8 * uint64(e.Offset)})
			sizes = append(sizes, fmt.Sprint(e.Size))
		}
		return vars, sizes
	}
	fa, x := sections(a)
	fb, y := sections(b)
	before, to := len(w.changes), match(fieldNames(fa), fieldNames(fb))
	walkPairs(to, len(fb), func(i, j int) {
		where := func(f field) string { return joinPath(s.where, "entry "+orAnon(f.name)) }
		add := func(kind ChangeKind, before, after string) {
			w.put(Change{Kind: kind, Where: where(fa[i]), Before: w.state(before, fa[i]),
				After: w.state(after, fb[j])}, true)
		}
		switch {
		case j < 0 && w.changedSection(a, b, s, fa[i].name),
			i < 0 && w.changedSection(a, b, s, fb[j].name):
			return
		case j < 0:
			w.put(Change{Kind: Removed, Where: where(fa[i]), Before: w.state(x[i]+" bytes", fa[i])}, true)
			return
		case i < 0:
			w.put(Change{Kind: Added, Where: where(fb[j]), After: w.state(y[j]+" bytes", fb[j])}, true)
			return
		}
		in := s
		in.where, in.types = where(fa[i]), [2]uint32{fa[i].node, fb[j].node}
		w.reference(fa[i].node, fb[j].node, in, false)
		if x[i] != y[j] {
			add(Resized, x[i], y[j])
		}
		if fa[i].off != fb[j].off {
			add(Moved, w.movedText(fa[i], ""), w.movedText(fb[j], ""))
		}
	})
	if len(w.changes) == before && !inOrderAll(to) {
		w.reordered(s, "entries")
	}
	if s, t := w.nodes[a].typ.SizeOrType, w.nodes[b].typ.SizeOrType; s != t {
		w.add(Size, "", fmt.Sprint(s), fmt.Sprint(t), false)
	}
}
