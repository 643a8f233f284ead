package btf

import (
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestLocationRecords writes each record of an inline site, and compares it with words written by
// hand from include/uapi/linux/btf.h.
func TestLocationRecords(t *testing.T) {
	words := []uint32{
		0, 20<<24 | 2, 8, 0x39, 0xffffffff, 0xffffffe0, // [1] *(fbreg - 0x20)
		0, 21<<24 | 3, 0, 1, 0, 1, // [2]
		1, 22<<24 | 2, 0, 7, 2, 0x40, 9, 2, 0x10, // [3] inline.text
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		b := NewBuilder(order, nil, nil)
		b.LocParam(8, LocSigned|LocReg|LocDeref|LocOffset, LocFrameBase, ^uint32(0x20)+1)
		b.LocProto(1, 0, 1)
		b.Locsec("inline.text", Site{7, 2, 0x40}, Site{9, 2, 0x10})
		var want []byte
		for _, w := range words {
			want = append(want, 0, 0, 0, 0)
			order.PutUint32(want[len(want)-4:], w)
		}
		if got := encoded(t, b.Finish(), EncodeOptions{})[HeaderLen:]; !slices.Equal(got,
			append(want, "\x00inline.text\x00"...)) {
			t.Errorf("%v:\n%s, want\n%s", order, hex.EncodeToString(got), hex.EncodeToString(want))
		}
	}
}

// TestWideVlen writes as many sites as only a 24-bit count holds, and as many members.
func TestWideVlen(t *testing.T) {
	b := NewBuilder(nil, nil, nil)
	b.Locsec("inline.text", make([]Site, MaxVlen+1)...)
	got, err := Parse(encoded(t, b.Finish(), EncodeOptions{Layout: true}), nil)
	if err != nil || len(got.SitesOf(&got.Types[0])) != MaxVlen+1 {
		t.Error("sites:", err)
	}
	for what, typ := range map[string]Type{
		"65535":    {Kind: KindStruct, Vlen: MaxVlen + 1},
		"16777215": {Kind: KindLocsec, Vlen: MaxVlenWide + 1},
	} {
		b := NewBuilder(nil, nil, nil)
		b.Add(typ)
		if _, err := b.Encode(EncodeOptions{}); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v: %v", typ.Kind, err)
		}
	}
}

func TestSortSites(t *testing.T) {
	b := NewBuilder(nil, nil, nil)
	b.Locsec("inline.text", Site{2, 1, 1}, Site{1, 3, 9}, Site{1, 2, 9}, Site{1, 9, 3})
	b.Locsec("inline.init.text", Site{1, 1, 2}, Site{1, 1, 1})
	b.Blob.SortSites()
	want := []Site{{1, 9, 3}, {1, 2, 9}, {1, 3, 9}, {2, 1, 1}, {1, 1, 1}, {1, 1, 2}}
	if !slices.Equal(b.Blob.Sites, want) {
		t.Error(b.Blob.Sites)
	}
}

// TestOtherLayouts changes the layout section: a kind that these tools don't know, and known kinds
// with other sizes. libbpf skips records of unknown kinds, but what they refer to stays unknown.
func TestOtherLayouts(t *testing.T) {
	good := encoded(t, example(nil), EncodeOptions{Layout: true})
	h, _ := must.Get2(ReadHeader(good))(t)
	at := int(h.HdrLen + h.LayoutOff)
	for _, c := range []struct {
		name string
		edit func(d []byte)
		want string // "" if it can be read
	}{
		{"an unknown kind", func(d []byte) { d[int(h.HdrLen)+7] = 23 }, "unknown kind 23"},
		{"a member of 16 bytes", func(d []byte) { d[at+4*int(KindStruct)+1] = 16 },
			"the layout section gives a STRUCT 0 bytes and 16 for each element, but these tools know " +
				"it with 0 bytes and 12 for each element"},
		{"a draft of LOC_PARAM", func(d []byte) { copy(d[at+4*int(KindLocParam):], "\x08\x00") },
			"gives a LOC_PARAM 8 bytes and 0 for each element"},
		{"flags", func(d []byte) { d[at+4*int(KindStruct)+2] = 1 }, ""},
	} {
		data := slices.Clone(good)
		c.edit(data)
		_, err := Parse(data, nil)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestNewerKind reads a blob with a kind that only its layout section describes.
func TestNewerKind(t *testing.T) {
	var d []byte
	for _, w := range []uint32{0x0001eb9f, 32, 0, 16, 16 + 4*24, 1, 16, 4 * 24,
		0, 23 << 24, 0, 7} {
		d = binary.LittleEndian.AppendUint32(d, w)
	}
	for k := range 24 {
		entry := []byte{0, 0, 0, 0}
		if k == 23 {
			entry[0] = 4
		} else {
			entry[0], entry[1] = layout[k].info, layout[k].elem
		}
		d = append(d, entry...)
	}
	const want = "kind 23 is newer than these tools, which know the kinds up to 22 (LOCSEC); the " +
		"layout section gives it 4 bytes and 0 for each element"
	if _, err := Parse(append(d, 0), nil); err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
}
