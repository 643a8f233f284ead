package dwarf

import (
	"bytes"
	std "debug/dwarf"
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestSpell compares spell with a reader that reads number by number.
func TestSpell(t *testing.T) {
	plain := func(b []byte) int {
		c := cursor{buf: b}
		c.uleb()
		c.u8()
		for !c.bad {
			attr, form := c.uleb(), c.uleb()
			if form == formImplicit {
				c.sleb()
			}
			if attr|form == 0 && !c.bad {
				return c.pos
			}
		}
		return 0
	}
	const seed = 1
	r := rand.New(rand.NewPCG(seed, 0))
	alphabet := []byte{0, 0, 0, 1, 3, formImplicit, formImplicit, 0x49, 0x7f, 0x80, 0x80, 0xff}
	var t1, t2 abbrevTable
	whole := 0
	for range 100_000 {
		b := make([]byte, r.IntN(24))
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
		end := t1.spell(b, 0)
		if want := plain(b); end != want {
			t.Fatalf("% x: got %d, want %d", b, end, want)
		}
		if end == 0 {
			continue
		}
		whole++
		shifted := append([]byte{0xff, 0xff}, append(b[:end:end], 1, 2, 3)...)
		if e := t2.spell(shifted, 2); e != end+2 || string(t1.spelling) != string(t2.spelling) {
			t.Fatalf("% x: its end or spelling depends on what is around it", b)
		}
	}
	if whole < 1000 {
		t.Errorf("only %d declarations were whole", whole)
	}
}

// TestCompiledAbbrevs compares declarations that are found by their bytes or their spelling with
// declarations that are compiled anew.
func TestCompiledAbbrevs(t *testing.T) {
	const seed = 1
	r := rand.New(rand.NewPCG(seed, 0))
	numbers := []byte{0, 0, 1, 3, 0x3a, 0x3b, 0x49, 0x80, formString, formRef4, formExprloc,
		formImplicit, formImplicit}
	known, fresh := abbrevTable{compiled: newCompiledAbbrevs()}, abbrevTable{}
	whole, recent := 0, 0
	for range 200_000 {
		b := []byte{byte(std.TagMember), byte(r.IntN(2))}
		for range r.IntN(12) {
			b = append(b, numbers[r.IntN(len(numbers))])
		}
		b = append(b, 0, 0)
		b = append(b, bytes.Repeat([]byte{byte(r.IntN(3))}, r.IntN(12))...) // other declarations
		c, plain := cursor{buf: b}, cursor{buf: b}
		hash, _ := hashHead(b[:min(len(b), recentSize)])
		if known.compiled.recent[hash%recentSets].find(b) != nil {
			recent++
		}
		got := known.compileOne(&c)
		if (got == nil) != (fresh.spell(b, 0) == 0) {
			t.Fatalf("% x: got %v", b, got)
		}
		if got == nil {
			continue
		}
		whole++
		want := fresh.compileNew(&plain)
		if c.pos != plain.pos || !reflect.DeepEqual(got, want) {
			t.Fatalf("% x: got %+v, which ends at %d; want %+v, %d", b, got, c.pos, want, plain.pos)
		}
	}
	if whole < 100_000 || recent < 10_000 || recent > whole-10_000 {
		t.Errorf("%d declarations were whole, and %d of them found by their bytes", whole, recent)
	}
}

// A table may encode the end of each declaration such that no two bytes in it are 0. The time to
// read it is proportional to its size all the same.
func TestDeclarationsWithoutZeros(t *testing.T) {
	var section []byte
	for i := range 200_000 {
		section = binary.AppendUvarint(section, uint64(1+i))
		section = append(section, "\x34\x01\x80\x00\x80\x00"...) // a variable, with children
	}
	section = append(section, 0)
	start := time.Now()
	var table abbrevTable
	var d Data
	d.abbrev = section
	must.OK(t, table.compile(&d, 0, format{version: 5}))
	if took := time.Since(start); took > 20*time.Second { // it takes milliseconds
		t.Errorf("it took %v", took)
	}
}
