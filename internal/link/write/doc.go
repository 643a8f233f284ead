// Package write puts the encoded types into canonical order and writes the blob.
//
//	keep.go     which types are written: the encoded ones and all that they reach
//	places.go   the written types, before they are in order
//	content.go  the content by which types with the same name are ordered
//	order.go    the canonical order
//	strings.go  the names: sorted, placed and checked
//	emit.go     the records
//
// The canonical order is: anonymous types first, then named types by name; types of the same name
// by kind, then by content. Linux 7.0 and later look up names in such BTF by binary search.
package write

import (
	"encoding/binary"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/decide"
	"github.com/rules-btf/rules_btf/internal/link/resolve"
	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Type is a type of package resolve, or one that package decide made.
type Type = resolve.Type

// Options say how the blob is written.
type Options struct {
	Order binary.ByteOrder
	// Layout adds a layout section if the BTF isn't split BTF.
	Layout bool
	// CheckNames refuses names that the kernel doesn't accept.
	CheckNames bool
	// OnlyMade writes only made types and the types that they need, not all types that units hold.
	OnlyMade bool
	Jobs     int // threads
}

type writer struct {
	shapes *survey.Shapes
	types  *resolve.Types
	made   *decide.Decisions
	opt    Options

	keep     []bool              // by type
	ids      []uint32            // by type
	contents map[Type]types.Hash // of the kept variants, see content.go
	places   places
	runs     []run // of the types that are written, in order
	strings  strings
	blob     *btf.Blob // the result's place in the chain of bases
}

// BTF writes the kept types. If something doesn't fit in the format, the error says what it is.
func BTF(t *resolve.Types, d *decide.Decisions, opt Options) (*Written, error) {
	w := &writer{shapes: t.Shapes, types: t, made: d, opt: opt}
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

// MadeID returns the BTF id of a made type.
func (w *Written) MadeID(k Type) uint32 { return w.ids[k] }

// ID returns the BTF id of a type that isn't a made type, or 0 if neither the blob nor its base has
// the type.
func (w *Written) ID(k Type) uint32 {
	if id := w.types.BaseID(k); id != 0 {
		return id
	}
	return w.ids[k]
}
