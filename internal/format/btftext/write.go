package btftext

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// Magic is how each text begins.
const Magic = "# BTF as text, version "

const version = "1"

const (
	// maxDepth limits how many types without a name may be nested in each other.
	maxDepth = 256
	// maxText limits the length of a text, because anonymous structs that are used several times
	// can make it much longer than the BTF.
	maxText = 1 << 27
	tooLong = "the text would be longer than 128 MiB"
)

// header returns the first line.
func header(order binary.ByteOrder, pointer uint32) string {
	endian := "little-endian"
	if order == binary.BigEndian {
		endian = "big-endian"
	}
	return fmt.Sprintf("%s%s, %d-bit, %s\n", Magic, version, pointer*8, endian)
}

// Write writes the types of b and its bases.
func Write(w io.Writer, b *btf.Blob) error {
	p, err := newPrinter(b)
	if err != nil {
		return err
	}
	if err := p.number(); err != nil {
		return err
	}
	var defs []definition
	for id := range b.EndID() {
		t, o := b.ByID(id)
		if t == nil || !p.isRoot(id, t) {
			continue
		}
		start := len(p.out)
		p.define(id, t, o)
		defs = append(defs, definition{rank(t), p.name(t.NameOff), max(p.numbers[id], 1),
			p.out[start:len(p.out):len(p.out)]})
		if p.err != nil {
			return p.err
		}
	}
	slices.SortFunc(defs, definition.compare)
	// Types with equal content have the same text.
	defs = slices.CompactFunc(defs, func(a, b definition) bool { return a.compare(b) == 0 })
	if _, err := io.WriteString(w, header(b.Order, b.PointerSize())); err != nil {
		return err
	}
	index := usualIndex(defs)
	if index != "" {
		if _, err := fmt.Fprintf(w, "index %s;\n", index); err != nil {
			return err
		}
	}
	for _, d := range defs {
		if _, err := w.Write(d.withIndices(index)); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(w, "end %d;\n", len(defs))
	return err
}

// definition is the text of a type that is not written inside of another one.
type definition struct {
	rank   int // of its kind
	name   string
	number uint32
	text   []byte
}

// usualIndex returns the type of indices that most arrays have, or "". A compiler gives all arrays
// the same type of indices, so it would only distract from what matters.
func usualIndex(defs []definition) string {
	counts := map[string]int{}
	for _, d := range defs {
		parts := bytes.Split(d.text, []byte(marker))
		for i := 1; i < len(parts); i += 2 {
			counts[string(parts[i])]++
		}
	}
	usual := ""
	for name, n := range counts {
		if c := cmp.Compare(n, counts[usual]); c > 0 || c == 0 && name < usual {
			usual = name
		}
	}
	return usual
}

// withIndices returns the text of d with the types of indices, except for the usual one.
func (d definition) withIndices(usual string) []byte {
	if bytes.IndexByte(d.text, marker[0]) < 0 {
		return d.text
	}
	var out []byte
	for i, part := range bytes.Split(d.text, []byte(marker)) {
		if i%2 == 1 {
			if string(part) == usual {
				continue
			}
			out = append(out, " : "...)
		}
		out = append(out, part...)
	}
	return out
}

func (d definition) compare(e definition) int {
	return cmp.Or(cmp.Compare(d.rank, e.rank), cmp.Compare(d.name, e.name),
		cmp.Compare(d.number, e.number), bytes.Compare(d.text, e.text))
}

// rank is the place of a type's kind in the text. The kinds that share a class of names are next to
// each other.
func rank(t *btf.Type) int {
	return slices.Index(order, t.TagKind())
}

var order = []btf.Kind{btf.KindFunc, btf.KindVar, btf.KindDatasec, btf.KindStruct, btf.KindUnion,
	btf.KindEnum, btf.KindTypedef, btf.KindInt, btf.KindFloat}
