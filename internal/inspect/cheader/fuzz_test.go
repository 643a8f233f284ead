package cheader_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/cheader"
	"github.com/rules-btf/rules_btf/internal/inspect/dump"
	"github.com/rules-btf/rules_btf/internal/inspect/stats"
	"github.com/rules-btf/rules_btf/internal/support/must"
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
		addSites(b)
		data := must.Get(b.Encode(btf.EncodeOptions{}))(f)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := btf.Parse(data, nil)
		if err != nil {
			return
		}
		must.OK(t, dump.Raw(io.Discard, b))
		must.OK(t, stats.Take(b, 3).WriteText(io.Discard))
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

// addSites adds a function, and a site where it was inlined.
func addSites(b *btf.Builder) {
	f := b.Func("f", b.FuncProto(1, btf.Param{NameOff: b.Name("a"), Type: 1}), btf.LinkageStatic)
	at := b.LocProto(b.LocParam(8, btf.LocReg, 5))
	b.Locsec("inline.text", btf.Site{Func: f, LocProto: at, Offset: 16})
}

// TestSites writes BTF with an inlined function. The header leaves it out, but a reference to a
// LOC_PARAM as a type is an error.
func TestSites(t *testing.T) {
	b := btf.NewBuilder(nil, nil, nil)
	b.Int("int", 4, btf.IntSigned, 0)
	b.Composite(btf.KindStruct, "s", 4, false, member(b, "x", 1, 0))
	var before, after bytes.Buffer
	must.OK(t, cheader.Write(&before, b.Finish(), nil))
	addSites(b)
	if err := cheader.Write(&after, b.Finish(), nil); err != nil ||
		after.String() != before.String() {
		t.Error(err, after.String())
	}
	if err := cheader.Write(io.Discard, b.Blob, []uint32{5, 6, 7}); err != nil {
		t.Error(err)
	}
	b.Ref(btf.KindPtr, "", 5)
	const want = "it refers to type [5], which is a LOC_PARAM"
	if err := cheader.Write(io.Discard, b.Finish(), nil); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Error(err)
	}
}
