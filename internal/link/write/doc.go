// Package write puts what is encoded into its canonical order and writes the blob.
//
//	keep.go     what the encoded types reach, and is therefore written
//	places.go   the written types, before they are in order
//	content.go  what types of equal name are ordered by
//	order.go    the canonical order
//	strings.go  the names: sorted, placed and checked
//	emit.go     the records
//	names.go    names that the kernel does not take
//
// The order is: anonymous types first, then by name; types of one name by kind, then by content.
// Kernels since 7.0 find names in it by binary search.
package write

import (
	"encoding/binary"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/decide"
	"github.com/rules-btf/rules_btf/internal/link/resolve"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Type is a type of package resolve, or one that package decide made.
type Type = resolve.Type

// Options say how the blob is written.
type Options struct {
	Order binary.ByteOrder
	// Layout gives base BTF a layout section in its header.
	Layout bool
	// CheckNames refuses names that the kernel does not take.
	CheckNames bool
	// OnlyMade writes what was made and what that needs; the units' types alone are no reason.
	OnlyMade bool
	Jobs     int // threads
}

// writer is the work of this package.
type writer struct {
	*resolve.Types
	made *decide.Decisions
	opt  Options

	keep     []bool              // by type
	ids      []uint32            // by type
	contents map[Type]types.Hash // of the kept variants, see content.go
	places   places
	list     []Type   // the types that are written, in order
	chunks   []uint64 // by chunk of these: where it begins in the type section
	strings  strings
	blob     *btf.Blob // the result's place in the chain of bases
}

// BTF writes the kept types. The error says what does not fit in the format.
func BTF(t *resolve.Types, d *decide.Decisions, opt Options) (*Written, error) {
	w := &writer{Types: t, made: d, opt: opt}
	w.keepAll()
	w.arrange()
	data, err := w.emit()
	if err != nil {
		return nil, err
	}
	return &Written{data, w.ids, t}, nil
}

// Written is a blob and the ids of its types.
type Written struct {
	BTF   []byte
	ids   []uint32
	types *resolve.Types
}

// ID returns the BTF id of a type that the blob or its base has, 0 for others.
func (w *Written) ID(k Type) uint32 {
	if id := w.types.BaseID(k); id != 0 {
		return id
	}
	return w.ids[k]
}
