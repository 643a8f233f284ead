package diff

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// field is a member of a struct or union. The members of its anonymous members count as its own.
type field struct {
	name string
	node uint32 // its type
	off  uint64 // in bits, from the start of the struct or union
	bits uint32 // the size of a bitfield, or 0
	nest string // the anonymous types that contain it: "", "union", "union struct" …
}

// These limit how many fields one type may have, and how often all types together look for fields.
// Beyond these limits, which only hostile input reaches, an anonymous member is one field.
const (
	maxFields = 1 << 18
	allFields = 1 << 24
)

func (c *comparison) fields(n uint32) []field {
	return c.appendFields(nil, n, 0, "", maxSpell)
}

func (c *comparison) appendFields(
	out []field, n uint32, start uint64, nest string, depth int,
) []field {
	t, kids := c.nodes[n].typ, c.children(n)
	for i, m := range c.nodes[n].blob.MembersOf(t) {
		c.work.fieldsLeft--
		off, bits := m.Bits(t.KFlag)
		f := field{c.element(n, i), kids[i], start + uint64(off), bits, nest}
		if c.isNest(f) && depth > 0 && len(out) < maxFields && c.work.fieldsLeft > 0 {
			in := c.nestWord(f.node)
			if nest != "" {
				in = nest + " " + in
			}
			out = c.appendFields(out, f.node, f.off, in, depth-1)
			continue
		}
		out = append(out, f)
	}
	return out
}

// isNest reports whether a member is an anonymous struct or union.
func (c *comparison) isNest(f field) bool {
	return f.name == "" && c.kind(f.node).IsComposite() && c.nodes[f.node].name == 0
}

func (c *comparison) nestWord(n uint32) string {
	if c.kind(n) == btf.KindUnion {
		return "union"
	}
	return "struct"
}

func fieldNames(fields []field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

// matchFields pairs the fields of two types: by name, then those that have only been renamed. The
// result renamed has the fields of a with a different name.
// Rule: diff: pairs of members, renames.
func (c *comparison) matchFields(a, b []field) (to []int, renamed map[int]bool) {
	to = match(fieldNames(a), fieldNames(b))
	text := func(fields []field) func(i int) string {
		return func(i int) string {
			f := fields[i]
			typ := strings.ReplaceAll(c.spell(f.node), declaredMark, "")
			return fmt.Sprint(f.off, f.bits, f.nest, typ)
		}
	}
	return to, matchRest(to, len(b), text(a), text(b))
}

// members lists the differences between two structs or unions.
func (w *walker) members(a, b uint32, s spot) {
	before := len(w.changes)
	if w.label[a] == w.label[b] && w.membersInPlace(a, b, s) {
		return
	}
	fa, fb := w.fields(a), w.fields(b)
	to, renamed := w.matchFields(fa, fb)
	walkPairs(to, len(fb), func(i, j int) {
		switch {
		case j < 0:
			w.put(Change{Kind: Removed, Where: w.memberPath(s, fa[i]), Before: w.declared(fa[i]),
				Breaks: true, Part: w.part(&fa[i], nil)}, true)
		case i < 0:
			w.put(Change{Kind: Added, Where: w.memberPath(s, fb[j]), After: w.declared(fb[j]),
				Part: w.part(nil, &fb[j])}, true)
		default:
			w.member(fa[i], fb[j], s, renamed[i])
		}
	})
	switch inOrder := inOrderAll(to); {
	case len(w.changes) == before && !inOrder:
		w.reordered(s, "members")
	case !inOrder:
		w.own = true // not only because a member before others has grown
	}
	if s.where == "" || len(w.changes) == before {
		w.size(a, b, s.where)
	}
}

// membersInPlace lists the differences between the members of two structs or unions that differ
// only in references. It returns false, and lists nothing, if some of the members are anonymous
// types that differ.
func (w *walker) membersInPlace(a, b uint32, s spot) bool {
	ka, kb := w.children(a), w.children(b)
	t := w.nodes[a].typ
	members := w.nodes[a].blob.MembersOf(t)
	for i, m := range members {
		if w.content[ka[i]] != w.content[kb[i]] && m.NameOff == 0 {
			return false
		}
	}
	for i, m := range members {
		if w.content[ka[i]] == w.content[kb[i]] {
			continue
		}
		off, bits := m.Bits(t.KFlag)
		f := field{w.element(a, i), ka[i], uint64(off), bits, ""}
		g := f
		g.node = kb[i]
		w.member(f, g, s, false)
	}
	return true
}

func inOrderAll(to []int) bool {
	for i := range to {
		if to[i] != i {
			return false
		}
	}
	return true
}

func (w *walker) memberPath(s spot, f field) string {
	return joinPath(s.where, "member "+orAnon(f.name))
}

func (c *comparison) place(f field) *Place {
	return &Place{f.off, c.sizeOf(f.node, maxSpell), f.bits}
}

func (c *comparison) state(text string, f field) *State {
	return &State{text, c.place(f)}
}

// declared is the state of a member that only one side has.
func (c *comparison) declared(f field) *State {
	text := c.declare(f.node, message.Printable(f.name), maxSpell)
	if f.bits > 0 {
		text += fmt.Sprintf(" : %d", f.bits)
	}
	return c.state(text, f)
}

// part describes a member, which may be missing on one side.
func (c *comparison) part(f, g *field) (p Part) {
	for i, x := range [2]*field{f, g} {
		if x != nil {
			p.Names[i], p.Types[i] = x.name, c.nodes[x.node].id
		}
	}
	return p
}

// member lists the differences between two members that are the same member.
func (w *walker) member(f, g field, s spot, renamed bool) {
	where := w.memberPath(s, f)
	add := func(kind ChangeKind, before, after string, breaks, own bool) {
		w.put(Change{Kind: kind, Where: where, Before: w.state(before, f), After: w.state(after, g),
			Breaks: breaks, Part: w.part(&f, &g)}, own)
	}
	if renamed {
		add(Renamed, orAnon(f.name), orAnon(g.name), false, true)
	}
	first := len(w.changes)
	w.reference(f.node, g.node, spot{where, [2]uint32{f.node, g.node}}, false)
	for i := first; i < len(w.changes); i++ {
		if c := &w.changes[i]; c.Where == where && c.Before.Place == nil && c.After != nil {
			c.Before.Place, c.After.Place = w.place(f), w.place(g)
			in := c.Part.In
			c.Part = w.part(&f, &g)
			c.Part.In = in
		}
	}
	x, y := w.sizeOf(f.node, maxSpell), w.sizeOf(g.node, maxSpell)
	if first == len(w.changes) && x != y {
		w.grown = true
		add(Resized, fmt.Sprint(x), fmt.Sprint(y), true, false)
	}
	if f.bits != g.bits {
		add(Resized, bitText(f.bits), bitText(g.bits), true, true)
	}
	if f.off != g.off || f.nest != g.nest {
		add(Moved, w.movedText(f, g.nest), w.movedText(g, f.nest),
			f.off != g.off, !w.grown || f.nest != g.nest)
	}
}

// movedText is the offset of a member and, if the other side's member is in different anonymous
// types, the anonymous types that contain it.
func (c *comparison) movedText(f field, otherNest string) string {
	text := c.place(f).at()
	if f.nest != otherNest {
		text += " in " + cmp.Or(f.nest, "no anonymous type")
	}
	return text
}

func bitText(bits uint32) string {
	if bits == 0 {
		return "no bitfield"
	}
	return message.Count(bits, "bit")
}
