package object

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/elf"
	"github.com/rules-btf/rules_btf/internal/types"
)

// absorber is the fast twin of ReadFile and Merger.Add: it reads BTF objects straight into one
// graph. More than 99% of what a file holds is in the graph already: its shapes are hashed where
// they lie, and only what is new is made into nodes.
//
// It knows what Write writes. Whatever else a file holds, be it damaged, raw BTF, or with pinned
// stubs, is left to the plain way (read.go, references.go, shapes.go), which tells what is wrong.
// Of what that checks, nothing is left out: all references, kinds and depths, and that each type is
// there once, which follows from the canonical order. What both take gives the same graph and
// units: TestAbsorb, TestAbsorbDamaged, FuzzAbsorb, and package convert's TestMergeRealObjects.
type absorber struct {
	g   *types.Graph
	set *unitSet

	// The present file. The memory is used for the next one too.
	file []byte
	blob btf.Blob
	text []byte // the strings
	// by offset in text: which string begins there, from 1; 0: none, or the empty one
	ordinal []uint32
	names   []types.Hash // by ordinal
	strs    []types.Str  // by ordinal; 0: not interned yet
	shapes  []shape      // by type id
	sizes   []uint32     // by type id: of FUNCs and VARs
	elems   []types.Elem
}

// shape is what is known of a type record.
type shape struct {
	hash  types.Hash // of the content
	stub  types.Hash // of the stub, for one that declares or defines a tag
	id    types.ID   // in the graph; 0: not looked up yet
	depth uint16     // how deep its shape nests; 0: not known yet
	busy  bool
	kind  btf.Kind
	tag   types.Tag // that it declares or defines; 0: none
}

// absorb adds the object at path to the graph and the units, and returns what it says of itself. ok
// is false if the file is of another form than Write's; then nothing was added.
func (a *absorber) absorb(path string) (says claims, ok bool, err error) {
	if !a.load(path) {
		return says, false, nil
	}
	return a.take(path)
}

// take is absorb for the file that is loaded.
func (a *absorber) take(path string) (says claims, ok bool, err error) {
	s, t, ok := a.read(path)
	if !ok {
		return says, false, nil
	}
	says = claims{target: t, features: s.features, empty: len(s.units) == 0}
	for i := range s.units {
		says.candidates = says.candidates || !s.units[i].linked
	}
	if err := a.addUnits(s); err != nil {
		return says, false, fmt.Errorf("%s: %w", path, err)
	}
	return says, true, nil
}

// read reads and checks the file that is loaded.
func (a *absorber) read(path string) (*unitsSection, Target, bool) {
	f, err := elf.Parse(path, a.file)
	if err != nil {
		return nil, Target{}, false
	}
	records, units := f.Section(btf.SectionTypes), f.Section(SectionUnits)
	if records == nil || units == nil {
		return nil, Target{}, false
	}
	if a.text, err = a.blob.ParseTypes(records.Raw()); err != nil || byteOrder(&a.blob) != f.Order {
		return nil, Target{}, false
	}
	s, err := decodeUnits(units.Raw(), &a.blob)
	if err != nil || len(s.pins) > 0 || len(s.refs) > 0 {
		return nil, Target{}, false
	}
	a.sizes = s.sizes
	return s, target(f), a.hashNames() && a.hashShapes()
}

// load reads the file at path.
func (a *absorber) load(path string) bool {
	info, err := os.Stat(path) // before it is opened: a pipe can be read once
	if err != nil || !info.Mode().IsRegular() || info.Size() > math.MaxInt32 {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if n := int(info.Size()); n > cap(a.file) {
		a.file = make([]byte, n, n+n/2)
	} else {
		a.file = a.file[:n]
	}
	_, err = io.ReadFull(f, a.file)
	return err == nil
}

// resized returns s with n zero elements.
func resized[T any](s []T, n int) []T {
	if n > cap(s) {
		return make([]T, n, n+n/2)
	}
	s = s[:n]
	clear(s)
	return s
}

// hashNames hashes the strings, of which only the first may be empty.
func (a *absorber) hashNames() bool {
	a.ordinal = resized(a.ordinal, len(a.text))
	a.names = append(a.names[:0], types.Hash{})
	for at := 1; at < len(a.text); {
		n := bytes.IndexByte(a.text[at:], 0)
		if n <= 0 {
			return false
		}
		a.ordinal[at] = uint32(len(a.names))
		a.names = append(a.names, types.HashString(a.text[at:at+n]))
		at += n + 1
	}
	a.strs = resized(a.strs, len(a.names))
	return true
}

// name returns the hash of the string at off.
func (a *absorber) name(off uint32) (h types.Hash, ok bool) {
	if int64(off) >= int64(len(a.text)) {
		return h, false
	}
	ordinal := a.ordinal[off]
	return a.names[ordinal], ordinal != 0 || off == 0
}

// intern returns the string at off, which name has found.
func (a *absorber) intern(off uint32) types.Str {
	if off == 0 {
		return 0
	}
	str := &a.strs[a.ordinal[off]]
	if *str == 0 {
		n := bytes.IndexByte(a.text[off:], 0)
		*str = a.g.Strs.InternHashed(a.text[off:int(off)+n], a.names[a.ordinal[off]])
	}
	return *str
}

// hashShapes hashes all types, and checks that they are in canonical order.
func (a *absorber) hashShapes() bool {
	a.shapes = resized(a.shapes, len(a.blob.Types)+1)
	for i := range a.blob.Types {
		t, s := &a.blob.Types[i], &a.shapes[i+1]
		s.kind, s.tag = t.Kind, declared(t)
		if s.tag == 0 && t.NameOff != 0 {
			s.tag = types.TagOf(types.Kind(t.Kind))
		}
	}
	for i := range a.blob.Types {
		id := uint32(i + 1)
		if a.shapes[id].depth == 0 && !a.hash(id, 0) {
			return false
		}
		if i > 0 && !a.inOrder(id) {
			return false
		}
	}
	return true
}

// inOrder tells whether type id comes after the one before it in the order of types.
func (a *absorber) inOrder(id uint32) bool {
	x, y := &a.blob.Types[id-2], &a.blob.Types[id-1]
	if p, q := a.ordinal[x.NameOff], a.ordinal[y.NameOff]; p != q {
		return p < q
	}
	if p, q := a.kind(x), a.kind(y); p != q {
		return p < q
	}
	return a.shapes[id-1].hash.Less(a.shapes[id].hash)
}

// declared is records.declared; only the empty string is no name.
func declared(t *btf.Type) types.Tag {
	switch {
	case t.Kind == btf.KindFwd && t.KFlag:
		return types.TagUnion
	case t.Kind == btf.KindFwd:
		return types.TagStruct
	case t.Kind.IsEnum() && t.Vlen == 0 && t.NameOff != 0:
		return types.TagEnum
	}
	return 0
}

// kind is the kind of the node of t.
func (a *absorber) kind(t *btf.Type) types.Kind {
	if declared(t) != 0 {
		return types.KindStub
	}
	return types.Kind(t.Kind)
}

// hash hashes type id, as types.Graph does, and what its shape contains.
func (a *absorber) hash(id uint32, depth int) bool {
	t, s := &a.blob.Types[id-1], &a.shapes[id]
	name, ok := a.name(t.NameOff)
	if !ok || s.busy || depth > maxDepth {
		return false
	}
	if tag := declared(t); tag != 0 {
		s.hash, s.depth = types.HashStub(tag, name), 1
		return t.NameOff != 0
	}
	s.busy = true
	deepest, fit := uint16(0), fitting(t.Kind)
	ref := func(child uint32) types.Hash {
		if uint64(child) >= uint64(len(a.shapes)) {
			ok = false
			return types.Hash{}
		}
		c := &a.shapes[child] // of void: nothing
		ok = ok && fit.has(c.kind)
		if c.tag != 0 && a.crosses(t, child) {
			return a.stub(child)
		}
		if c.depth == 0 && child != 0 && (!ok || !a.hash(child, depth+1)) {
			ok = false
		}
		deepest = max(deepest, c.depth)
		return c.hash
	}
	elem := func(off uint32) types.Hash {
		h, found := a.name(off)
		ok = ok && found
		return h
	}
	size, aux, to := a.head(id)
	var refers types.Hash
	if t.Kind.HasType() || t.Kind == btf.KindArray {
		refers = ref(to)
	}
	h := types.Start(types.Kind(t.Kind), size, aux, name, refers)
	switch t.Kind {
	case btf.KindFunc:
		ok = ok && aux <= types.LinkageExtern
	case btf.KindArray:
		h.Elem(types.Hash{}, ref(a.blob.ArrayOf(t).Index), 0)
	case btf.KindStruct, btf.KindUnion:
		for _, m := range a.blob.MembersOf(t) {
			h.Elem(elem(m.NameOff), ref(m.Type), uint64(m.Offset))
		}
	case btf.KindEnum:
		for _, e := range a.blob.EnumsOf(t) {
			h.Elem(elem(e.NameOff), types.Hash{}, e.Value&math.MaxUint32)
		}
	case btf.KindEnum64:
		for _, e := range a.blob.EnumsOf(t) {
			h.Elem(elem(e.NameOff), types.Hash{}, e.Value)
		}
	case btf.KindFuncProto:
		for _, p := range a.blob.ParamsOf(t) {
			h.Elem(elem(p.NameOff), ref(p.Type), 0)
		}
	case btf.KindDatasec:
		for _, e := range a.blob.SecinfosOf(t) {
			h.Elem(types.Hash{}, ref(e.Type), uint64(e.Offset)|uint64(e.Size)<<32)
		}
	}
	s.hash, s.depth, s.busy = h.Sum(t.KFlag), deepest+1, false
	return ok && deepest < maxDepth
}

// head returns the fields of type id's node that elements have no part in.
func (a *absorber) head(id uint32) (size, aux, ref uint32) {
	t := &a.blob.Types[id-1]
	switch {
	case t.Kind.HasSize():
		size = t.SizeOrType
	case t.Kind.HasType():
		ref = t.SizeOrType
	}
	switch t.Kind {
	case btf.KindInt:
		aux = t.Extra
	case btf.KindVar:
		size, aux = a.sizes[id], t.Extra
	case btf.KindFunc:
		size, aux = a.sizes[id], t.Vlen
	case btf.KindDeclTag:
		aux = t.Extra + 1
	case btf.KindArray:
		array := a.blob.ArrayOf(t)
		size, ref = array.Nelems, array.Elem
	}
	return size, aux, ref
}

// crosses tells whether t refers to child, which declares or defines a tag, by the tag's stub.
func (a *absorber) crosses(t *btf.Type, child uint32) bool {
	return t.Kind != btf.KindDeclTag || declared(&a.blob.Types[child-1]) != 0
}

// stub returns the hash of the stub for child.
func (a *absorber) stub(child uint32) types.Hash {
	s := &a.shapes[child]
	if s.stub == (types.Hash{}) {
		name, _ := a.name(a.blob.Types[child-1].NameOff) // checked with the type
		s.stub = types.HashStub(s.tag, name)
	}
	return s.stub
}

// node returns the node of type id. What the graph has, it has with all that the shape contains.
func (a *absorber) node(id uint32) types.ID {
	s := &a.shapes[id]
	if s.id != 0 {
		return s.id
	}
	if s.id = a.g.Find(s.hash); s.id == 0 {
		s.id = a.add(id)
	}
	return s.id
}

// add adds the node of type id, whose hash is known.
func (a *absorber) add(id uint32) types.ID {
	t := &a.blob.Types[id-1]
	if tag := declared(t); tag != 0 {
		return a.g.Stub(tag, a.intern(t.NameOff))
	}
	ref := func(child uint32) types.ID {
		if child == 0 {
			return 0
		}
		if tag := a.shapes[child].tag; tag != 0 && a.crosses(t, child) {
			return a.g.Stub(tag, a.intern(a.blob.Types[child-1].NameOff))
		}
		return a.node(child)
	}
	n := types.Node{Hash: a.shapes[id].hash, Kind: types.Kind(t.Kind), Flag: t.KFlag,
		Name: a.intern(t.NameOff)}
	var to uint32
	n.Size, n.Aux, to = a.head(id)
	n.Ref = ref(to)
	base := len(a.elems)
	elem := func(name, child uint32, val uint64) {
		to := ref(child) // before append, for it appends too
		a.elems = append(a.elems, types.Elem{Name: a.intern(name), Ref: to, Val: val})
	}
	switch t.Kind {
	case btf.KindArray:
		elem(0, a.blob.ArrayOf(t).Index, 0)
	case btf.KindStruct, btf.KindUnion:
		for _, m := range a.blob.MembersOf(t) {
			elem(m.NameOff, m.Type, uint64(m.Offset))
		}
	case btf.KindEnum:
		for _, e := range a.blob.EnumsOf(t) {
			elem(e.NameOff, 0, e.Value&math.MaxUint32)
		}
	case btf.KindEnum64:
		for _, e := range a.blob.EnumsOf(t) {
			elem(e.NameOff, 0, e.Value)
		}
	case btf.KindFuncProto:
		for _, p := range a.blob.ParamsOf(t) {
			elem(p.NameOff, p.Type, 0)
		}
	case btf.KindDatasec:
		for _, e := range a.blob.SecinfosOf(t) {
			elem(0, e.Type, uint64(e.Offset)|uint64(e.Size)<<32)
		}
	}
	added := a.g.AddHashed(n, a.elems[base:])
	a.elems = a.elems[:base]
	return added
}

// addUnits adds the file's units.
func (a *absorber) addUnits(s *unitsSection) error {
	for i := range s.units {
		rec := &s.units[i]
		u := Unit{File: a.g.Strs.Intern([]byte(rec.file)), Linked: rec.linked, Count: rec.count,
			Items: make([]types.ID, 0, rec.items)}
		for _, group := range rec.groups {
			for _, id := range s.groups[group] {
				u.Items = append(u.Items, a.node(id))
			}
		}
		if _, err := a.set.add(u); err != nil {
			return err
		}
	}
	return nil
}
