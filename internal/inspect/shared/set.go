package shared

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// shapes are the distinct shapes of all modules, numbered from 1, as records of one blob. Names in
// the records are types.Strs. A reference is either the id of a type in the base, or the base's
// EndID plus the number of a shape. Each tag that a module defines, declares or refers to has a
// stub, which is a shape too.
type shapes struct {
	btf.Blob
	hashes []types.Hash
	index  map[types.Hash]uint32
	stub   []uint32 // by shape: the stub of its tag (for a stub: itself), 0 if it has no tag
}

// held are the types of all modules, numbered consecutively.
type held struct {
	shape []uint32 // 0 for functions, variables, sections and declaration tags
	first []uint32 // type i refers to refs[first[i]:first[i+1]] in its module
	refs  []uint32
}

// Set has the types of several modules with the same base.
type Set struct {
	base    *btf.Blob
	g       *types.Graph // for its strings
	shapes  shapes
	held    held
	modules []moduleFigures
	kinds   [btf.NumKinds]Part
	users   []uint32 // by types.Str: how many modules have the string
}

type moduleFigures struct {
	first, end uint32 // its types in held
	size       int    // in bytes, of the whole BTF
	types      int    // in bytes, of their records
	strings    int    // in bytes
}

func newSet(base *btf.Blob) *Set {
	s := &Set{base: base, g: types.New(), held: held{first: []uint32{0}}}
	s.shapes.index = map[types.Hash]uint32{}
	s.shapes.add(types.Hash{}, 0)
	s.shapes.Types = make([]btf.Type, 1)
	return s
}

func (s *shapes) add(h types.Hash, stub uint32) uint32 {
	n := uint32(len(s.hashes))
	s.hashes, s.stub, s.index[h] = append(s.hashes, h), append(s.stub, stub), n
	return n
}

func (s *Set) add(m *module) error {
	first := uint32(len(s.held.shape))
	if uint64(first)+uint64(len(m.Types)) > 1<<31 {
		return fmt.Errorf("the modules together have more than %d types", 1<<31)
	}
	local := make([]uint32, len(m.Types))
	for _, i := range m.order {
		local[i] = s.shape(m, i, local)
	}
	s.held.shape = append(s.held.shape, local...)
	for i := range m.Types {
		t := &m.Types[i]
		s.kinds[t.Kind].add(1, recordLen(t))
		if local[i] != 0 {
			for ref := range m.Refs(t) {
				if *ref >= m.StartID {
					s.held.refs = append(s.held.refs, first+*ref-m.StartID)
				}
			}
		}
		s.held.first = append(s.held.first, uint32(len(s.held.refs)))
	}
	s.addStrings(m.Strings)
	h := &m.Header
	s.modules = append(s.modules, moduleFigures{first: first, end: uint32(len(s.held.shape)),
		size:  int(h.HdrLen + h.TypeLen + h.LayoutLen + h.StrLen),
		types: int(h.TypeLen), strings: int(h.StrLen)})
	return nil
}

// shape returns the shape of the module's type i; local has the shapes of the types inside it.
func (s *Set) shape(m *module, i uint32, local []uint32) uint32 {
	t := &m.Types[i]
	if n, ok := s.shapes.index[m.hashes[i]]; ok {
		return n
	}
	if declares(t) {
		return s.stub(m, t)
	}
	stub := uint32(0)
	if tagOf(t) != 0 {
		stub = s.stub(m, t)
	}
	name := func(off uint32) uint32 { return s.str(m, off) }
	ref := func(id uint32) uint32 {
		if id < m.StartID {
			return id
		}
		child := &m.Types[id-m.StartID]
		n := local[id-m.StartID]
		if tagOf(child) != 0 {
			n = s.stub(m, child)
		}
		return m.StartID + n
	}
	s.shapes.Blob.Copy(m.Blob, t, name, ref)
	return s.shapes.add(m.hashes[i], stub)
}

// stub returns the stub of the tag that a type of the module defines or declares.
func (s *Set) stub(m *module, t *btf.Type) uint32 {
	tag := tagOf(t)
	hash := types.HashStub(tag, m.names[t.NameOff])
	if n, ok := s.shapes.index[hash]; ok {
		return n
	}
	x := btf.Type{NameOff: s.str(m, t.NameOff), Kind: btf.KindFwd, KFlag: tag == types.TagUnion}
	if tag == types.TagEnum {
		x.Kind, x.KFlag, x.SizeOrType = btf.KindEnum, false, 4
	}
	s.shapes.Types = append(s.shapes.Types, x)
	return s.shapes.add(hash, uint32(len(s.shapes.hashes)))
}

// str interns the name at an offset. The hash of this name must be in m.names.
func (s *Set) str(m *module, off uint32) uint32 {
	if off == 0 {
		return 0
	}
	name, _ := m.Name(off)
	return uint32(s.g.Strs.InternHashed([]byte(name), m.names[off]))
}

func (s *Set) addStrings(all string) {
	for len(all) > 0 {
		name, rest, _ := strings.Cut(all, "\x00")
		all = rest
		str := s.g.Strs.Intern([]byte(name))
		if n := s.g.Strs.Len(); n > len(s.users) {
			s.users = append(s.users, make([]uint32, n-len(s.users))...)
		}
		s.users[str]++
	}
}

// Read reads the BTF of modules that are based on base: raw BTF, or the section .BTF of ELF files.
// jobs is the number of threads; progress is called after each file. If several files are bad, the
// error is about the first.
func Read(paths []string, base *btf.Blob, jobs int, progress func(done, all int)) (*Set, error) {
	s := newSet(base)
	var mu sync.Mutex
	read := func(i int) error { return s.readFile(paths[i], &mu) }
	return s, cmp.Or(parallel.Each(jobs, paths, read, progress)...)
}

func (s *Set) readFile(path string, mu *sync.Mutex) error {
	b, err := relocate.ReadOne(path, s.base)
	if err != nil {
		return err
	}
	m, err := readModule(b)
	if err == nil {
		mu.Lock()
		defer mu.Unlock()
		err = s.add(m)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
