package loader

import (
	"encoding/binary"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// patchKind changes a byte of the record of the n-th type of a kind.
func patchKind(t *testing.T, data []byte, base *btf.Blob, kind btf.Kind, n, at int,
	value byte) []byte {
	t.Helper()
	b := must.Get(btf.Parse(data, base))(t)
	off := int(b.Header.HdrLen + b.Header.TypeOff)
	for i := range b.Types {
		if b.Types[i].Kind == kind {
			if n--; n < 0 {
				out := append([]byte(nil), data...)
				out[off+at] = value
				return out
			}
		}
		off += int(b.Types[i].Kind.RecordLen(b.Types[i].Vlen))
	}
	t.Fatalf("no %v", kind)
	return nil
}

// patchWord replaces a word of .BTF_ids.
func patchWord(data []byte, n int, value uint32) []byte {
	out := append([]byte(nil), data...)
	binary.LittleEndian.PutUint32(out[4*n:], value)
	return out
}

func bigEndian(t *testing.T, data []byte, base *btf.Blob) []byte {
	t.Helper()
	b := must.Get(btf.Parse(data, base))(t)
	b.Order = binary.BigEndian
	out := must.Get(btf.Encode(b, btf.EncodeOptions{}))(t)
	return out
}

// stringsFirst puts the strings before the types.
func stringsFirst(t *testing.T, data []byte, base *btf.Blob) []byte {
	t.Helper()
	b := must.Get(btf.Parse(data, base))(t)
	names := append([]byte(b.Strings), make([]byte, -len(b.Strings)&3)...)
	out := append(append([]byte(nil), data[:btf.HeaderLen]...), names...)
	for i, x := range []int{len(names), int(b.Header.TypeLen), 0, len(names)} {
		binary.LittleEndian.PutUint32(out[8+4*i:], uint32(x))
	}
	return append(out, data[btf.HeaderLen:][:b.Header.TypeLen]...)
}
