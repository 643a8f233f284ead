package dwarf

import (
	"encoding/binary"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// viewEntry is an entry of a location list, with views.
type viewEntry struct{ low, lowView, high, highView byte }

// TestViews looks up places in lists as gcc writes them, in the form of each version. The entries
// have expressions of one byte. Their views precede the list, as two numbers for each entry.
func TestViews(t *testing.T) {
	long := []viewEntry{
		{0x10, 0, 0x18, 2},
		{0x18, 2, 0x18, 3},
		{0x18, 4, 0x20, 0},
		{0x28, 0, 0x28, 1},
		{0x28, 3, 0x30, 1},
	}
	short := []viewEntry{{0x18, 1, 0x18, 3}, {0x18, 3, 0x20, 2}}
	const none = -1
	for _, c := range []struct {
		entries            []viewEntry
		p                  Place
		want, withoutViews int
	}{
		{long, Place{0x0f, 9}, none, none},
		{long, Place{0x10, 0}, 0, 0},
		{long, Place{0x11, 7}, 0, 0},
		{long, Place{0x18, 0}, 0, 2}, // in the middle of a statement's code
		{long, Place{0x18, 1}, 0, 2},
		{long, Place{0x18, 2}, none, 2}, // only views are covered, and the list has other addresses
		{long, Place{0x18, 3}, 2, 2},    // only the next view is covered
		{long, Place{0x18, 4}, 2, 2},
		{long, Place{0x18, 9}, 2, 2},
		{long, Place{0x1f, 9}, 2, 2},
		{long, Place{0x20, 0}, none, none},
		{long, Place{0x27, 9}, none, none},
		{long, Place{0x28, 0}, none, 4},
		{long, Place{0x28, 1}, none, 4}, // neither this view nor the next one
		{long, Place{0x28, 2}, 4, 4},
		{long, Place{0x2f, 0}, 4, 4},
		{long, Place{0x30, 0}, 4, none},
		{long, Place{0x30, 1}, none, none},
		{short, Place{0x18, 0}, 0, 1},
		{short, Place{0x18, 1}, 0, 1}, // only views are covered
		{short, Place{0x18, 2}, 0, 1},
		{short, Place{0x18, 3}, 1, 1},
		{short, Place{0x20, 1}, 1, none},
	} {
		views, version4, version5, pairs := viewLists(c.entries)
		for _, form := range []struct {
			version uint16
			lists   []byte
			at      int // of the list
			views   Value
		}{
			{4, append(views[:len(views):len(views)], version4...), len(views), Value{0, ClassSec}},
			{5, append(views[:len(views):len(views)], version5...), len(views), Value{0, ClassSec}},
			{5, pairs, 0, Value{}},
			{4, version4, 0, Value{}},
			{5, version5, 0, Value{}},
		} {
			d, err := New(wrap(t, binary.LittleEndian, nil, nil, nil, form.lists))
			must.OK(t, err)
			r := Reader{D: d, in: d, Unit: &Unit{Version: form.version},
				f: format{version: form.version, offSize: 4, addrSize: 8}}
			want := c.want
			if form.views.Class == ClassNone && form.lists[0] != 9 {
				want = c.withoutViews
			}
			expr, covered, err := r.LocationAt(0, Value{uint64(form.at), ClassSec}, form.views, c.p)
			got := none
			if covered {
				got = int(expr[0])
			}
			if err != nil || got != want {
				t.Errorf("version %d, views %v: at %+v, entry %d, want %d; %v", form.version,
					form.lists[0] == 9 || form.views.Class != ClassNone, c.p, got, want, err)
			}
		}
	}
}

// viewLists returns the views of a list, and the list as in version 4, in version 5, and in version
// 5 with the views in it.
func viewLists(entries []viewEntry) (views, version4, version5, pairs []byte) {
	for i, e := range entries {
		views = append(views, e.lowView, e.highView)
		version4 = binary.LittleEndian.AppendUint64(version4, uint64(e.low))
		version4 = binary.LittleEndian.AppendUint64(version4, uint64(e.high))
		version4 = append(version4, 1, 0, byte(i))
		entry := []byte{4, e.low, e.high, 1, byte(i)} // DW_LLE_offset_pair
		version5 = append(version5, entry...)
		pairs = append(append(pairs, 9, e.lowView, e.highView), entry...) // DW_LLE_GNU_view_pair
	}
	return views, append(version4, make([]byte, 16)...), append(version5, 0), append(pairs, 0)
}
