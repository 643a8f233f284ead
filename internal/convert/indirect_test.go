package convert

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// handEntry is an entry of a hand-made unit: its tag, whether it has children, and its attributes.
// An entry with the tag 0 ends a list.
type handEntry struct {
	tag, children byte
	attributes    []handAttr
}

type handAttr struct {
	attr, form byte
	value      string
	to         int // if not 0: the entry to which it refers, with DW_FORM_ref4
}

// writeUnit returns a unit with the entries, and its abbreviations. If indirect is set, all
// attributes have DW_FORM_indirect.
func writeUnit(entries []handEntry, indirect bool) (info, abbrevs string) {
	const formIndirect = 0x16
	offsets := make([]int, len(entries))
	at := 12
	for i, e := range entries {
		offsets[i] = at
		at++
		for _, a := range e.attributes {
			if at += len(a.value); a.to != 0 {
				at += 4
			}
			if indirect {
				at++
			}
		}
	}
	for i, e := range entries {
		if e.tag == 0 {
			info += "\x00"
			continue
		}
		info += string(rune(1 + i))
		abbrevs += string([]byte{byte(1 + i), e.tag, e.children})
		for _, a := range e.attributes {
			form := a.form
			if indirect {
				info += string([]byte{form})
				form = formIndirect
			}
			abbrevs += string([]byte{a.attr, form})
			if info += a.value; a.to != 0 {
				info += u32(offsets[a.to])
			}
		}
		abbrevs += "\x00\x00"
	}
	return unitOf(1, info), abbrevs + "\x00"
}

// TestIndirectForms: DW_FORM_indirect says that an entry itself has the form of an attribute. All
// attributes are read as if the declaration had the form.
func TestIndirectForms(t *testing.T) {
	const (
		block1, data1, data2, sdata, str, flag, ref4 = 0x0a, 0x0b, 0x05, 0x0d, 0x08, 0x0c, 0x13
		name, size, location, typ, value, encoding   = 0x03, 0x0b, 0x38, 0x49, 0x1c, 0x3e
		declaration, bitSize, bitAt, count, expr     = 0x3c, 0x0d, 0x6b, 0x37, 0x02
	)
	of := func(attr, form byte, value string) handAttr { return handAttr{attr, form, value, 0} }
	named := func(s string) handAttr { return of(name, str, s+"\x00") }
	to := func(n int) handAttr { return handAttr{typ, ref4, "", n} }
	entries := []handEntry{
		{0x11, 1, []handAttr{named("x.c"), of(0x13, data1, "\x0c")}},
		{0x24, 0, []handAttr{named("int"), of(size, data1, "\x04"), of(encoding, data1, "\x05")}},
		{0x13, 1, []handAttr{named("s"), of(size, data2, "\x18\x00")}},
		{0x0d, 0, []handAttr{named("a"), to(1), of(location, data1, "\x04")}},
		{0x0d, 0, []handAttr{named("b"), to(1), of(bitSize, data1, "\x03"),
			of(bitAt, sdata, "\xc0\x00")}},
		{0x0d, 0, []handAttr{named("p"), to(8), of(location, block1, "\x02\x23\x10")}},
		{},
		{0x16, 0, []handAttr{named("t"), to(2)}},
		{0x0f, 0, []handAttr{to(9)}},
		{0x13, 0, []handAttr{named("only"), of(declaration, flag, "\x01")}},
		{0x13, 0, []handAttr{named("defined"), of(declaration, flag, "\x00"), of(size, data1, "\x02")}},
		{0x04, 1, []handAttr{named("e"), of(size, data1, "\x04")}},
		{0x28, 0, []handAttr{named("E"), of(value, sdata, "\x7f")}},
		{},
		{0x01, 1, []handAttr{to(1)}},
		{0x21, 0, []handAttr{of(count, data1, "\x05")}},
		{},
		{0x16, 0, []handAttr{named("array"), to(14)}},
		{},
	}
	convert := func(info, abbrevs string) []string {
		o, err := File(handMade(t, info, abbrevs), Options{Features: features.Default(), Jobs: 1})
		must.OK(t, err)
		var list []string
		for _, u := range o.Units {
			for _, id := range u.Items {
				n := o.Graph.Node(id)
				text := fmt.Sprintf("%v %s: %d %d %v", n.Kind, o.Graph.Name(n), n.Size, n.Aux, n.Hash)
				for _, e := range o.Graph.ElemsOf(n) {
					text += fmt.Sprintf(" %s@%d", o.Graph.Strs.String(e.Name), e.Val)
				}
				list = append(list, text)
			}
		}
		slices.Sort(list)
		return list
	}
	plain := convert(writeUnit(entries, false))
	if len(plain) != 5 {
		t.Errorf("without DW_FORM_indirect: %q", plain)
	}
	info, abbrevs := writeUnit(entries, true)
	if got := convert(info, abbrevs); !slices.Equal(got, plain) {
		t.Errorf("with DW_FORM_indirect:\n%q, want\n%q", got, plain)
	}
	// the second unit repeats the types of the first
	if n := countNamed(t, info+info, abbrevs, "s"); n != 1 {
		t.Errorf("%d definitions of s, want 1", n)
	}
}
