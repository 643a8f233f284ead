package dwarf

import (
	std "debug/dwarf"
	stdelf "debug/elf"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// compared lists the attributes for which this package and debug/dwarf are compared.
var compared = map[std.Attr]Attr{
	std.AttrName: Name, std.AttrType: Type, std.AttrByteSize: ByteSize, std.AttrEncoding: Encoding,
	std.AttrDataMemberLoc: MemberLocation, std.AttrBitSize: BitSize,
	std.AttrDataBitOffset: DataBitOffset, std.AttrBitOffset: BitOffset,
	std.AttrConstValue: ConstValue, std.AttrCount: Count, std.AttrUpperBound: UpperBound,
	std.AttrExternal: External, std.AttrDeclaration: Declaration, std.AttrLanguage: Language,
	std.AttrAbstractOrigin: Origin, std.AttrSpecification: Specification, std.AttrSignature: Signature,
	std.AttrProducer: Producer, std.AttrInline: Inline,
}

// TestReaderAgreesWithStandardLibrary reads every entry of the test objects with this package and
// with debug/dwarf.
func TestReaderAgreesWithStandardLibrary(t *testing.T) {
	entries := 0
	for name, d := range objectFiles(t) {
		t.Run(name, func(t *testing.T) {
			theirs, err := stdelf.Open(filepath.Join("../../convert/testdata/objects", name))
			must.OK(t, err)
			defer theirs.Close()
			want, err := theirs.DWARF()
			if err != nil {
				t.Skip("SKIPPED: debug/dwarf: ", err)
			}
			entries += compareEntries(t, d, want.Reader())
		})
	}
	if entries < 1000 {
		t.Errorf("compared %d entries: too few to mean much", entries)
	}
}

// compareEntries compares all entries, and returns their number.
func compareEntries(t *testing.T, d *Data, want *std.Reader) int {
	var r Reader
	n := 0
	for i := range d.Units {
		u := &d.Units[i]
		must.OK(t, r.Load(d, u))
		var e DIE
		for off := u.HeaderLen; uint64(off) < u.Len; off = e.Next {
			must.OK(t, r.Read(off, &e))
			x, err := want.Next()
			if err != nil && n == 0 {
				t.Skip("SKIPPED: debug/dwarf can't read this machine's objects: ", err)
			}
			if err != nil || x == nil {
				t.Fatalf("unit %d+%#x: debug/dwarf: %v, %v", i, off, x, err)
			}
			if got := uint64(e.Off) + u.Off; !e.Null && got != uint64(x.Offset) || e.Tag != x.Tag ||
				e.Children != x.Children || e.Null != (x.Tag == 0) {
				t.Fatalf("entry at %#x: %v, children %v; debug/dwarf reads at %#x: %v, children %v", got, e.Tag,
					e.Children, x.Offset, x.Tag, x.Children)
			}
			for _, f := range x.Field {
				attr, ok := compared[f.Attr]
				if !ok {
					continue
				}
				if got, want := value(&r, &e, attr), standardValue(f, u); got != want {
					t.Errorf("entry at %#x: %v is %s, debug/dwarf reads %s", x.Offset, f.Attr, got, want)
				}
			}
			if !e.Null {
				compareWays(t, &r, &e)
			}
			n++
		}
	}
	return n
}

// compareWays reads the entry e again in all other ways, and compares the results.
func compareWays(t *testing.T, r *Reader, e *DIE) {
	h, err := r.Peek(e.Off)
	if err != nil || h.Next != e.Next {
		t.Fatalf("entry at %#x: Peek finds its end at %#x, %v; Read at %#x", e.Off, h.Next, err, e.Next)
	}
	after, err := r.After(h)
	if skipped, err2 := r.afterDIE(e); skipped != after || err != nil || err2 != nil {
		t.Errorf("entry at %#x: After says %#x, %v; afterDIE %#x, %v", e.Off, after, err, skipped,
			err2)
	}
	for s := range numAttrs {
		if got, want := h.Value(s), e.Value(s); got != want {
			t.Errorf("entry at %#x: attr %d is %+v, read with all others %+v", e.Off, s, got, want)
		}
	}
}

// value returns an attribute as text: flags are 0 or 1, references are offsets in the section.
func value(r *Reader, e *DIE, s Attr) string {
	if !e.Has(s) {
		return "absent"
	}
	switch v := e.Val[s]; e.Class[s] {
	case ClassInline, ClassStrp, ClassLineStr, ClassStrx:
		b, err := r.String(e, s)
		return fmt.Sprintf("%q, %v", b, err)
	case ClassRef:
		return fmt.Sprint(int64(v + r.Unit.Off))
	case ClassAddr, ClassAddrx:
		a, ok := r.address(e, s)
		if !ok {
			return "no address"
		}
		return fmt.Sprint(int64(a))
	case ClassBlock:
		return fmt.Sprintf("%x", r.Block(v))
	default:
		return fmt.Sprint(int64(v))
	}
}

func standardValue(f std.Field, u *Unit) string {
	switch v := f.Val.(type) {
	case string:
		return fmt.Sprintf("%q, <nil>", v)
	case bool:
		if v {
			return "1"
		}
		return "0"
	case std.Offset:
		return fmt.Sprint(int64(v))
	case uint64:
		return fmt.Sprint(int64(v))
	case int64:
		return fmt.Sprint(v)
	case []byte:
		return fmt.Sprintf("%x", v)
	}
	return fmt.Sprintf("%v (%T)", f.Val, f.Val)
}
