package dwarf

import (
	"math/rand/v2"
	"testing"
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
