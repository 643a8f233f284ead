package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// walker walks two types of different content side by side, down to types that have a name, and
// lists what has changed.
type walker struct {
	*comparison
	cause   int32 // in comparison.causes, of the walked types; 0 if it is unknown
	seen    map[[2]uint32]bool
	budget  int // how many pairs of nodes may still be visited
	changes []Change
	// own says that some change is not a consequence of changes in types that have a name: such a
	// consequence is that a member moves because a struct before it has grown. It does not count the
	// changes of kind Declared.
	own      bool
	indirect bool      // types to which the walked types refer differ
	through  uint32    // the first of these
	at       string    // where that is
	grown    bool      // a member of a type that has a name has a different size
	in       [2]uint32 // the nodes whose elements or references are compared
}

// spot is where a walk is.
type spot struct {
	where string    // the path from the compared types, such as "member bar"
	types [2]uint32 // the types at the end of the path; they contain the walked types
}

// cleared returns an empty set of pairs, always the same one.
func (c *comparison) cleared() map[[2]uint32]bool {
	w := &c.work
	if len(w.pairs) > 1000 || w.pairs == nil {
		w.pairs = map[[2]uint32]bool{}
	}
	clear(w.pairs)
	return w.pairs
}

// changesOf lists how two types with the same kind and name differ. The result says so too if they
// don't, and only types that they refer to differ.
// Rule: diff: what has changed in a type.
func (c *comparison) changesOf(a, b uint32, budget int) *walker {
	w := &walker{comparison: c, seen: c.cleared(), budget: budget}
	w.inside(a, b, spot{types: [2]uint32{a, b}})
	if !w.own && !w.indirect && len(w.changes) == 0 {
		w.other("", "the difference is nested too deeply to show")
	}
	return w
}

// Rule: diff: types that differ only because another does.
func (w *walker) class() Class {
	switch {
	case w.own:
		return Differs
	case slices.ContainsFunc(w.changes, func(c Change) bool { return c.Kind == Declared }):
		return Forward
	}
	return Indirect
}

// note says which type differs, for types that differ only in what they refer to.
func (w *walker) note() (where, what string) {
	return w.at, "refers to " + w.spellNamed(w.through) + ", which differs"
}

// ids returns the type ids of two nodes; that of void, of a missing type and of noPartner is 0.
func (c *comparison) ids(nodes [2]uint32) (ids [2]uint32) {
	for i, n := range nodes {
		if n != noPartner {
			ids[i] = c.nodes[n].id
		}
	}
	return ids
}

// add adds a change that is not a consequence of others.
func (w *walker) add(kind ChangeKind, where, before, after string, breaks bool) {
	w.put(Change{Kind: kind, Where: where, Before: &State{Text: before}, After: &State{Text: after},
		Breaks: breaks}, true)
}

func (w *walker) put(c Change, own bool) {
	c.Part.In = w.ids(w.in)
	w.changes = append(w.changes, c)
	w.own = w.own || own
}

func (w *walker) other(where, text string) {
	w.put(Change{Kind: Other, Where: where, Before: &State{Text: text}, Breaks: true}, true)
}

// reordered adds the change that two types have the same elements, such as members, in a different
// order.
func (w *walker) reordered(s spot, elements string) {
	text := "the order of the " + elements + " differs"
	w.put(Change{Kind: Reordered, Where: s.where, Before: &State{Text: text}}, true)
}

// inside lists how two nodes of one kind differ: in their records, or in their references.
func (w *walker) inside(a, b uint32, s spot) {
	if w.seen[[2]uint32{a, b}] || w.budget == 0 {
		return
	}
	w.seen[[2]uint32{a, b}] = true
	w.budget--
	before, outer := len(w.changes), w.in
	w.in = [2]uint32{a, b}
	defer func() { w.in = outer }()
	switch k := w.kind(a); {
	case k.IsComposite():
		w.members(a, b, s)
	case k.IsEnum():
		w.enumerators(a, b, s)
	case k == btf.KindFuncProto:
		w.parameters(a, b, s)
	case k == btf.KindDatasec:
		w.entries(a, b, s)
	case k == btf.KindLocsec:
		w.sites(a, b, s)
	default:
		w.record(a, b, s.where)
		w.references(a, b, s)
	}
	if len(w.changes) == before && w.label[a] != w.label[b] {
		w.other(s.where, "the records differ")
	}
}

// sites lists the difference between two LOCSECs. Sites change with every edit of a function, so
// they aren't listed one by one. No program depends on them as it depends on a type.
func (w *walker) sites(a, b uint32, s spot) {
	n, m := w.nodes[a].typ.Vlen, w.nodes[b].typ.Vlen
	if n != m {
		w.add(Resized, s.where, message.Count(n, "site"), message.Count(m, "site"), false)
		return
	}
	differ := w.label[a] != w.label[b]
	ka, kb := w.children(a), w.children(b)
	for i := 1; i < len(ka) && !differ; i += 2 { // the LOC_PROTOs
		differ = w.content[ka[i]] != w.content[kb[i]]
	}
	if differ {
		text := message.Count(n, "site") +
			" on both sides, but with other functions, offsets or locations"
		w.put(Change{Kind: Other, Where: s.where, Before: &State{Text: text}}, true)
		return
	}
	w.references(a, b, s)
}

// record lists the differences between two records without elements, apart from references.
func (w *walker) record(a, b uint32, where string) {
	if w.label[a] == w.label[b] {
		return
	}
	s, t := w.nodes[a].typ, w.nodes[b].typ
	add := func(kind ChangeKind, before, after any, breaks bool) {
		if before != after {
			w.add(kind, where, fmt.Sprint(before), fmt.Sprint(after), breaks)
		}
	}
	switch s.Kind {
	case btf.KindArray:
		n, m := w.nodes[a].blob.ArrayOf(s).Nelems, w.nodes[b].blob.ArrayOf(t).Nelems
		add(Resized, elements(n), elements(m), true)
	case btf.KindInt:
		add(Encoding, encoding(s), encoding(t), false)
		add(Resized, bits(s), bits(t), true)
	case btf.KindFunc:
		add(Linkage, linkage(s.Vlen), linkage(t.Vlen), false)
	case btf.KindVar:
		add(Linkage, linkage(s.Extra), linkage(t.Extra), false)
	case btf.KindDeclTag:
		add(Moved, int32(s.Extra), int32(t.Extra), false)
	case btf.KindFwd:
		add(Declared, fwdWord(s), fwdWord(t), false)
	}
	if s.Kind.HasSize() {
		w.size(a, b, where)
	}
}

// size lists a different size of the type itself.
func (w *walker) size(a, b uint32, where string) {
	if x, y := w.nodes[a].typ.SizeOrType, w.nodes[b].typ.SizeOrType; x != y {
		w.put(Change{Kind: Size, Where: where, Before: &State{Text: fmt.Sprint(x)},
			After: &State{Text: fmt.Sprint(y)}, Breaks: true}, !w.grown)
	}
}

func elements(n uint32) string { return message.Count(n, "element") }

func bits(t *btf.Type) string {
	s := fmt.Sprintf("%d bits", t.Extra&0xff)
	if from := t.Extra >> 16 & 0xff; from != 0 {
		s += fmt.Sprintf(" from bit %d", from)
	}
	return s
}

func encoding(t *btf.Type) string {
	var words []string
	e := t.Extra >> 24
	for _, x := range []struct {
		bit  uint32
		word string
	}{{btf.IntSigned, "signed"}, {btf.IntChar, "char"}, {btf.IntBool, "bool"}} {
		if e&x.bit != 0 {
			words = append(words, x.word)
			e &^= x.bit
		}
	}
	if e != 0 {
		words = append(words, fmt.Sprint(e))
	}
	return cmp.Or(strings.Join(words, " "), "unsigned")
}

func fwdWord(t *btf.Type) string {
	if t.KFlag {
		return "union"
	}
	return "struct"
}

func linkage(l uint32) string {
	words := map[uint32]string{btf.LinkageStatic: "static", btf.LinkageGlobal: "global",
		btf.LinkageExtern: "extern"}
	return cmp.Or(words[l], fmt.Sprint(l))
}

// references lists the differences between the types to which two nodes refer.
func (w *walker) references(a, b uint32, s spot) {
	ka, kb := w.children(a), w.children(b)
	for i := range min(len(ka), len(kb)) {
		in, part := s, w.childName(a, i)
		if part != "" || s.types == [2]uint32{a, b} && !partOfOther(w.kind(a)) {
			in.types = [2]uint32{ka[i], kb[i]}
		}
		in.where = joinPath(s.where, part)
		w.reference(ka[i], kb[i], in, w.kind(a) == btf.KindFunc)
	}
}

func joinPath(where, part string) string {
	switch {
	case where == "" || part == "":
		return where + part
	case len(where) > 400:
		return where
	}
	if member, ok := strings.CutPrefix(part, "member "); ok {
		return where + "." + member
	}
	return where + ", " + part
}

// partOfOther reports whether types of this kind are spelled out in the types that refer to them.
func partOfOther(k btf.Kind) bool {
	return k == btf.KindPtr || k == btf.KindArray || k == btf.KindFuncProto ||
		k == btf.KindLocParam || k == btf.KindLocProto || k.IsModifier() && k != btf.KindTypedef
}

// reference lists the difference between references to a and b. If the parameter open is set, it
// looks inside two types of the same kind even if their records differ.
func (w *walker) reference(a, b uint32, s spot, open bool) {
	if w.content[a] == w.content[b] {
		return
	}
	ka, kb := w.kind(a), w.kind(b)
	if w.sameName(a, b) {
		if w.otherDefinition(a) {
			w.other(s.where, "refers to different definitions of "+w.spellNamed(a))
		} else if !w.indirect || w.leads(a) > w.leads(w.through) {
			w.indirect, w.at, w.through = true, s.where, a
		}
		return
	}
	if ka == kb && w.nodes[a].name == w.nodes[b].name && a >= firstNode && b >= firstNode {
		// Both are pointers, arrays, anonymous structs …: the difference may be deeper.
		if open || w.label[a] == w.label[b] || ka.IsComposite() || ka.IsEnum() {
			w.inside(a, b, s)
			return
		}
	}
	sa, sb := w.spell(s.types[0]), w.spell(s.types[1])
	if sa == sb {
		sa, sb = w.spell(a), w.spell(b)
	}
	if sa == sb {
		sa, sb = fmt.Sprintf("%v %s", ka, sa), fmt.Sprintf("%v %s", kb, sb)
	}
	if w.nodes[a].name == w.nodes[b].name && w.nodes[a].name != 0 && w.declares(a, b) {
		w.put(Change{Kind: Declared, Where: s.where, Before: &State{Text: sa}, After: &State{Text: sb},
			Part: Part{Types: w.ids(s.types)}}, false)
		return
	}
	w.put(Change{Kind: Retyped, Where: s.where, Before: &State{Text: sa}, After: &State{Text: sb},
		Breaks: true, Part: Part{Types: w.ids(s.types)}}, true)
}

// declares reports whether one of two nodes with the same name is a declaration of the other.
func (c *comparison) declares(a, b uint32) bool {
	if c.kind(a) != btf.KindFwd {
		a, b = b, a
	}
	return c.kind(a) == btf.KindFwd && c.kind(b).IsComposite() &&
		c.nodes[a].typ.KFlag == (c.kind(b) == btf.KindUnion)
}

// sameName reports whether two nodes have the same kind and the same name, which isn't empty.
func (c *comparison) sameName(a, b uint32) bool {
	k := c.kind(a)
	return k == c.kind(b) && c.nodes[a].name == c.nodes[b].name && c.nodes[a].name != 0 &&
		k != btf.KindTypeTag
}

// otherDefinition reports whether a named type has several definitions, and both sides have the
// same ones. Then two different references to that name lead to two of these definitions.
func (c *comparison) otherDefinition(n uint32) bool {
	g := c.groups[key{kind: c.kind(n), name: c.nodes[n].name}]
	return g != nil && len(g.alone[0])+len(g.alone[1]) == 0 &&
		len(g.own[0])+len(g.own[1])+g.bases > 2
}

// childName names the i-th reference of a node without members, such as "return". It returns "" for
// kinds that have only one reference, such as pointers.
func (c *comparison) childName(n uint32, i int) string {
	switch kind := c.kind(n); {
	case kind == btf.KindArray && i == 1:
		return "index"
	case kind == btf.KindDeclTag:
		return "target"
	}
	return ""
}

// sizeOf returns the size of a type in bytes, or 0 if it is unknown.
func (c *comparison) sizeOf(n uint32, depth int) uint64 {
	t := c.nodes[n].typ
	switch {
	case t == nil || depth == 0:
		return 0
	case t.Kind.HasSize():
		return uint64(t.SizeOrType)
	case t.Kind == btf.KindPtr:
		return c.pointerSize(c.nodes[n].blob)
	case t.Kind.IsModifier() || t.Kind == btf.KindVar:
		return c.sizeOf(c.children(n)[0], depth-1)
	case t.Kind == btf.KindArray:
		return uint64(c.nodes[n].blob.ArrayOf(t).Nelems) * c.sizeOf(c.children(n)[0], depth-1)
	}
	return 0
}

// pointerSize returns the size of a pointer in a blob: that of its deepest base.
func (c *comparison) pointerSize(b *btf.Blob) uint64 {
	for b.Base != nil {
		b = b.Base
	}
	size, ok := c.work.pointers[b]
	if !ok {
		size = uint64(b.PointerSize())
		c.work.pointers[b] = size
	}
	return size
}
