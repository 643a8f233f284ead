package object

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// absorber does the work of ReadFile and Merger.Add, but faster: it reads BTF objects straight into
// one graph. More than 99% of a file's shapes are in the graph already. So shapes are hashed in
// place, and nodes are made only for new shapes. The first file makes all of the graph (fill.go).
//
// It accepts only files that Write wrote. Everything else (damaged files, raw BTF, pinned stubs) is
// read the plain way (read.go, references.go, shapes.go), which reports what is wrong. Both ways
// check the same things: references, kinds, depths, and that no type occurs twice (this follows
// from the canonical order). If both accept a file, they make the same graph and units: see
// TestAbsorb, TestAbsorbDamaged, FuzzAbsorb, and TestTogether in package convert.
type absorber struct {
	set  *unitSet
	jobs int // threads for one file

	// The fields from here on are for the current file. Their memory is reused for the next file.
	file []byte
	blob btf.Blob
	text []byte // the strings
	// by offset in text: the number, from 1, of the string that begins there; 0: none, or an empty one
	ordinal []uint32
	names   []types.Hash // by ordinal
	strs    []types.Str  // by ordinal; 0: not interned yet
	shapes  []shape      // by type id
	crossed []uint32     // by type id: 1 if a reference to the type is a stub of its tag
	sizes   []uint32     // by type id: Node.Size, for FUNCs and VARs
	elems   []types.Elem // of types being added
}

// shape is what is known about a type record.
type shape struct {
	hash  types.Hash // hash of the content
	stub  types.Hash // hash of the stub, if the type declares or defines a tag
	id    types.ID   // in the graph; 0: not looked up yet
	state uint32     // free, done, or the thread that is hashing the type
	depth uint16     // how deep the shape nests; 0: not known yet
	chain uint8      // length of the chain of modifiers that begins with the type
	kind  btf.Kind
	tag   types.Tag // the tag that it declares or defines; 0: none
	fwd   bool      // it only declares the tag
	leads bool      // it only declares the tag, or contains a stub
}

// crosses reports whether a reference to s, from a type of the given kind, is a stub of s's tag.
func (s *shape) crosses(from btf.Kind) bool {
	return s.tag != 0 && (from != btf.KindDeclTag || s.fwd)
}

// precedes reports whether s comes before o, which has the same name, in canonical order.
func (s *shape) precedes(o *shape) bool {
	if p, q := s.nodeKind(), o.nodeKind(); p != q {
		return p < q
	}
	return s.hash.Less(o.hash)
}

func (s *shape) nodeKind() types.Kind {
	if s.fwd {
		return types.KindStub
	}
	return types.Kind(s.kind)
}

// absorb adds the object at path to the graph and the units, and returns the object's claims. If
// the file is not what Write would write, ok is false and nothing is added.
// Rule: merge of files: the fast way.
func (a *absorber) absorb(path string) (says claims, ok bool, err error) {
	if !a.load(path) {
		return says, false, nil
	}
	return a.take(path)
}

func (a *absorber) take(path string) (says claims, ok bool, err error) {
	s, t, ok := a.read(path)
	if !ok {
		return says, false, nil
	}
	says = claims{target: t, features: s.features, empty: len(s.units) == 0}
	for i := range s.units {
		says.candidates = says.candidates || !s.units[i].linked
	}
	filled := false
	if len(a.set.g.Nodes) == 1 && len(a.set.units) == 0 {
		filled, err = a.fill(s)
	}
	if !filled {
		err = s.addTo(a.set, a.node)
	}
	if err != nil {
		return says, false, fmt.Errorf("%s: %w", path, err)
	}
	return says, true, nil
}

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
	var s *unitsSection
	named := false
	parallel.All(a.jobs, func() { s, err = decodeUnits(units.Raw(), &a.blob) },
		func() { named = a.hashNames() })
	if err != nil || len(s.pins) > 0 || len(s.refs) > 0 || !named {
		return nil, Target{}, false
	}
	a.sizes = s.sizes
	return s, target(f), a.hashShapes()
}

func (a *absorber) load(path string) bool {
	info, err := os.Stat(path) // before opening it: a pipe can be read only once
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

func resized[T any](s []T, n int) []T {
	if n > cap(s) {
		return make([]T, n, n+n/2)
	}
	s = s[:n]
	clear(s)
	return s
}

// hashNames hashes the strings. The ordinal of a string is the number of zero bytes before it.
func (a *absorber) hashNames() bool {
	a.ordinal = resized(a.ordinal, len(a.text))
	var parts []namesPart
	end := uint32(0) // ordinal
	for at := 0; at < len(a.text); {
		const some = 1 << 16
		n := bytes.IndexByte(a.text[min(at+some, len(a.text))-1:], 0) + 1
		if n == 0 {
			return false
		}
		p := namesPart{at, min(at+some, len(a.text)) - 1 + n, end}
		parts = append(parts, p)
		at = p.to
		end += uint32(bytes.Count(a.text[p.from:p.to], []byte{0}))
	}
	a.names = resized(a.names, int(end))
	a.strs = resized(a.strs, int(end))
	parallel.Do(a.jobs, len(parts), func(i int) { a.hashPart(parts[i]) })
	return true
}

// namesPart is a part of absorber.text: its first and last offset, and the ordinal of its first
// string.
type namesPart struct {
	from, to int
	ordinal  uint32
}

func (a *absorber) hashPart(p namesPart) {
	for at, ordinal := p.from, p.ordinal; at < p.to; ordinal++ {
		n := bytes.IndexByte(a.text[at:], 0)
		if n > 0 {
			a.ordinal[at] = ordinal
			a.names[ordinal] = types.HashString(a.text[at : at+n])
		}
		at += n + 1
	}
}

func (a *absorber) name(off uint32) (h types.Hash, ok bool) {
	if int64(off) >= int64(len(a.text)) {
		return h, false
	}
	ordinal := a.ordinal[off]
	return a.names[ordinal], ordinal != 0 || off == 0
}

// intern returns the string at offset off, where a string begins.
func (a *absorber) intern(off uint32) types.Str {
	if off == 0 {
		return 0
	}
	str := &a.strs[a.ordinal[off]]
	if *str == 0 {
		n := bytes.IndexByte(a.text[off:], 0)
		*str = a.set.g.Strs.InternHashed(a.text[off:int(off)+n], a.names[a.ordinal[off]])
	}
	return *str
}

// node returns the node of the type with this id, and adds it if it is missing. If the graph has a
// node, it also has everything to which that node leads.
func (a *absorber) node(id uint32) types.ID {
	s := &a.shapes[id]
	if s.id != 0 {
		return s.id
	}
	if s.id = a.set.g.Find(s.hash); s.id == 0 {
		s.id = a.add(id)
	}
	return s.id
}

// add adds the node of the type with this id, whose hash is known.
func (a *absorber) add(id uint32) types.ID {
	t, s := &a.blob.Types[id-1], &a.shapes[id]
	if s.fwd {
		return a.set.g.Stub(s.tag, a.intern(t.NameOff))
	}
	ref := func(child uint32) types.ID {
		if child == 0 {
			return 0
		}
		if c := &a.shapes[child]; c.crosses(t.Kind) {
			return a.set.g.Stub(c.tag, a.intern(a.blob.Types[child-1].NameOff))
		}
		return a.node(child)
	}
	size, aux, to := Head(&a.blob, t)
	n := types.Node{Hash: s.hash, Kind: types.Kind(t.Kind), Flag: t.KFlag,
		Name: a.intern(t.NameOff), Size: size + a.sizes[id], Aux: aux, Ref: ref(to)}
	first := len(a.elems)
	for i := range Elements(t) {
		name, child, val := Element(&a.blob, t, i)
		to := ref(child) // before append, because ref also appends
		a.elems = append(a.elems, types.Elem{Name: a.intern(name), Ref: to, Val: val})
	}
	added := a.set.g.AddHashed(n, a.elems[first:])
	a.elems = a.elems[:first]
	return added
}
