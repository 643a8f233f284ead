package core

import (
	"fmt"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// many returns a kernel with a union of n members, half of them in an anonymous union, and with an
// enum of n values. It also returns relocations about all these members and values.
func many(t testing.TB, n int) (*Index, []*Spec) {
	b := build(t, func(b *btf.Builder) {
		b.Int("int", 4, 0, 0)
		var list [2][]btf.Member
		var values []btf.Enumerator
		for i := range n {
			list[i%2] = append(list[i%2], btf.Member{NameOff: b.Name(fmt.Sprint("m", i)), Type: 1})
			values = append(values, btf.Enumerator{NameOff: b.Name(fmt.Sprint("V", i))})
		}
		b.Composite(btf.KindUnion, "", 4, false, list[0]...)
		b.Composite(btf.KindUnion, "s", 4, false, append(list[1], btf.Member{Type: 2})...)
		b.Enum(btf.KindEnum, "e", 4, false, values...)
		for i := range n {
			b.Composite(btf.KindUnion, fmt.Sprint("s___", i), 4, false, list[i%2][i/2])
		}
	})
	var specs []*Spec
	add := func(kind Kind, typ uint32, access string) {
		s := must.Get(Parse(b, Relocation{Kind: kind, Type: typ, Access: access}))(t)
		specs = append(specs, s)
	}
	for i := range n {
		add(FieldExists, uint32(5+i), "0:0")
		add(EnumvalExists, 4, fmt.Sprint(i))
	}
	for i := range n / 2 {
		add(FieldExists, 3, fmt.Sprint("0:", i))
	}
	only := *b.Blob // for the kernel: without the types that have flavors
	only.Types = only.Types[:4]
	vmlinux := must.Get(NewBTF(&only, nil))(t)
	k := &Kernel{Vmlinux: vmlinux}
	return k.Index(map[string]bool{"s": true, "e": true}), specs
}

// TestGrowth checks that ten times as many relocations about ten times as many members take only
// about ten times as much work.
func TestGrowth(t *testing.T) {
	count := func(n int) int {
		k, specs := many(t, n)
		for _, s := range specs {
			if a := k.Resolve(s, 0); a.Value != 1 || a.Refused != nil {
				t.Fatalf("%v: %+v", s, a)
			}
		}
		return k.work
	}
	few, more := count(1000), count(10000)
	t.Logf("%d and %d", few, more)
	if few < 1000 || more > 11*few {
		t.Errorf("%d for 1000 members, %d for 10000", few, more)
	}
}

// BenchmarkResolve resolves thousands of relocations about one union and one enum.
func BenchmarkResolve(b *testing.B) {
	for b.Loop() {
		k, specs := many(b, 20000)
		for _, s := range specs {
			k.Resolve(s, 0)
		}
	}
}
