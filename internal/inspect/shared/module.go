package shared

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// module has the types of one module while the module is read.
type module struct {
	*btf.Blob
	hashes []types.Hash          // by type: of its shape; zero for functions, variables and so on
	order  []uint32              // the types that have shapes, children first, by index in Types
	names  map[uint32]types.Hash // by string offset
	budget int                   // bytes of names that may still be hashed; names may overlap
}

// readModule finds the shapes of a module's own types.
func readModule(b *btf.Blob) (*module, error) {
	m := &module{Blob: b, hashes: make([]types.Hash, len(b.Types)),
		order: make([]uint32, 0, len(b.Types)), names: map[uint32]types.Hash{},
		budget: 4*len(b.Strings) + 64*len(b.Types) + 1<<20}
	if err := m.childrenFirst(); err != nil {
		return nil, err
	}
	for _, i := range m.order {
		var err error
		if m.hashes[i], err = m.shape(b.StartID + i); err != nil {
			return nil, m.errorAt(i, "%w", err)
		}
	}
	return m, nil
}

func (m *module) errorAt(i uint32, format string, args ...any) error {
	return fmt.Errorf("BTF type [%d] %v: %w", m.StartID+i, m.Types[i].Kind,
		fmt.Errorf(format, args...))
}

// isType reports whether modules can share types of this kind.
func isType(k btf.Kind) bool {
	switch k {
	case btf.KindVoid, btf.KindFunc, btf.KindVar, btf.KindDatasec, btf.KindDeclTag:
		return false
	}
	return !k.IsLocation()
}

// tagOf returns the kind of the tag that a type defines or declares, or 0 if the type has no tag.
func tagOf(t *btf.Type) types.Tag {
	switch {
	case t.NameOff == 0:
		return 0
	case t.Kind == btf.KindFwd && t.KFlag:
		return types.TagUnion
	case t.Kind == btf.KindFwd:
		return types.TagStruct
	}
	return types.TagOf(types.Kind(t.Kind))
}

func declares(t *btf.Type) bool {
	return tagOf(t) != 0 && (t.Kind == btf.KindFwd || t.Kind.IsEnum() && t.Vlen == 0)
}

// childrenFirst fills in m.order. In that order, a type comes after the types that are part of its
// shape: the module's own types that it refers to, except tags. childrenFirst also checks all ids.
func (m *module) childrenFirst() error {
	const opened, done = 1, 2
	state := make([]uint8, len(m.Types))
	type visit struct{ at, ref uint32 }
	var stack []visit
	for root := range uint32(len(m.Types)) {
		if state[root] != 0 || !isType(m.Types[root].Kind) {
			continue
		}
		stack = append(stack, visit{root, 0})
		state[root] = opened
		for len(stack) > 0 {
			v := &stack[len(stack)-1]
			at := v.at
			ref := m.Ref(&m.Types[at], v.ref)
			if ref == nil {
				state[at] = done
				m.order = append(m.order, at)
				stack = stack[:len(stack)-1]
				continue
			}
			v.ref++
			if *ref >= m.EndID() {
				return m.errorAt(at, "refers to [%d], but the last type is [%d]", *ref, m.EndID()-1)
			}
			if *ref < m.StartID {
				continue
			}
			child := *ref - m.StartID
			switch t := &m.Types[child]; {
			case !isType(t.Kind):
				return m.errorAt(at, "refers to [%d] %v, which is not a type", *ref, t.Kind)
			case tagOf(t) != 0 || state[child] == done:
			case state[child] == opened:
				return m.errorAt(at, "contains itself without a struct, union or enum in between; "+
					"leave this module out")
			default:
				state[child] = opened
				stack = append(stack, visit{child, 0})
			}
		}
	}
	return nil
}

// ref returns the hash that represents a type in the shapes of types that refer to it.
func (m *module) ref(id uint32) (types.Hash, error) {
	switch {
	case id == 0:
		return types.Hash{}, nil
	case id < m.StartID:
		return base.IDHash(id), nil
	}
	t := &m.Types[id-m.StartID]
	if tag := tagOf(t); tag != 0 {
		name, err := m.name(t.NameOff)
		return types.HashStub(tag, name), err
	}
	return m.hashes[id-m.StartID], nil
}

func (m *module) name(off uint32) (types.Hash, error) {
	if off == 0 {
		return types.Hash{}, nil
	}
	if h, ok := m.names[off]; ok {
		return h, nil
	}
	s, err := m.Name(off)
	if err != nil {
		return types.Hash{}, err
	}
	if m.budget -= len(s); m.budget < 0 {
		return types.Hash{}, fmt.Errorf("the names overlap too much: together they are too long for "+
			"a string section of %d bytes", len(m.Strings))
	}
	h := types.HashString([]byte(s))
	m.names[off] = h
	return h, nil
}

// shape returns the hash of a type's shape or, for a forward declaration, the hash of its stub. The
// hashes of the types that the shape contains must be known.
func (m *module) shape(id uint32) (types.Hash, error) {
	t := &m.Types[id-m.StartID]
	if declares(t) {
		return m.ref(id)
	}
	var failed error
	keepError := func(hash func(uint32) (types.Hash, error)) func(uint32) types.Hash {
		return func(n uint32) types.Hash {
			h, err := hash(n)
			if failed == nil {
				failed = err
			}
			return h
		}
	}
	sum := object.HashRecord(m.Blob, t, keepError(m.name), keepError(m.ref))
	return sum, failed
}
