package cheader_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/cheader"
	"github.com/rules-btf/rules_btf/internal/inspect/dump"
	"github.com/rules-btf/rules_btf/internal/inspect/stats"
)

// FuzzWrite prints any BTF that can be parsed, in all output forms. Write must not panic, and a
// second call must print the same text.
func FuzzWrite(f *testing.F) {
	for _, long := range []uint32{4, 8} { // keywords as names; number types that some compilers lack
		b := btf.NewBuilder(nil, nil, nil)
		b.Int("long int", long, btf.IntSigned, 0)
		x, y := b.Float("_Float16", 2), b.Int("__int128", 16, btf.IntSigned, 0)
		tag := b.Composite(btf.KindStruct, "nullptr", 18, false, member(b, "linux", x, 0),
			member(b, "bool", y, 16))
		b.Ref(btf.KindTypedef, "bool", b.Ref(btf.KindPtr, "", b.Ref(btf.KindTypeTag, "\x1b\n\xff", tag)))
		b.Enum(btf.KindEnum, "e", 4, false, value(b, "true", 1))
		data, err := b.Encode(btf.EncodeOptions{})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := btf.Parse(data, nil)
		if err != nil {
			return
		}
		if err := dump.Raw(io.Discard, b); err != nil {
			t.Fatal(err)
		}
		if err := stats.Take(b, 3).WriteText(io.Discard); err != nil {
			t.Fatal(err)
		}
		var one, two bytes.Buffer
		first, second := cheader.Write(&one, b, nil), cheader.Write(&two, b, nil)
		if !bytes.Equal(one.Bytes(), two.Bytes()) || (first == nil) != (second == nil) {
			t.Fatal("two runs differ")
		}
		if first == nil != (one.Len() > 0) {
			t.Fatalf("error %v and %d bytes", first, one.Len())
		}
		ids := make([]uint32, 0, 8)
		for id := b.StartID; id < min(b.EndID(), b.StartID+8); id++ {
			ids = append(ids, id)
		}
		cheader.Write(io.Discard, b, ids)
	})
}
