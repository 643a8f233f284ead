package minimal_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/programs/minimal"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestQualifiers checks that the result can be written and has the same answers, however long the
// chain of qualifiers before a kept type is.
func TestQualifiers(t *testing.T) {
	for _, first := range []btf.Kind{btf.KindConst, btf.KindTypeTag} {
		for _, n := range []int{1, 10, 20, 21, 22, 30, 42, 43, 60} {
			t.Run(fmt.Sprint(n, " ", first), func(t *testing.T) {
				b := btf.NewBuilder(binary.LittleEndian, nil, nil)
				at := b.Int("int", 4, btf.IntSigned, 0)
				for i := range n {
					if at = b.Ref(btf.KindVolatile, "", at); i%2 == 0 {
						at = b.Ref(first, map[btf.Kind]string{btf.KindTypeTag: "tag"}[first], at)
					}
				}
				b.Composite(btf.KindStruct, "s", 8, false, btf.Member{NameOff: b.Name("x"), Type: at},
					btf.Member{NameOff: b.Name("y"), Type: 1, Offset: 32})
				b.Ref(btf.KindTypedef, "t", at)
				l := btf.NewBuilder(binary.LittleEndian, nil, nil)
				number := l.Int("int", 4, btf.IntSigned, 0)
				s := l.Composite(btf.KindStruct, "s", 4, false, btf.Member{NameOff: l.Name("x"), Type: number})
				typedef := l.Ref(btf.KindTypedef, "t", number)
				var p needs.Program
				for _, kind := range []core.Kind{core.FieldByteOffset, core.FieldByteSize, core.FieldExists} {
					p.Relocations = append(p.Relocations, core.Relocation{Kind: kind, Type: s, Access: "0:0"})
				}
				for _, kind := range []core.Kind{core.TypeExists, core.TypeSize, core.TypeMatches} {
					p.Relocations = append(p.Relocations, core.Relocation{Kind: kind, Type: typedef,
						Access: "0"})
				}
				whole := &core.Kernel{Vmlinux: checked(t, b)}
				list := &needs.Needs{Order: binary.LittleEndian, Local: checked(t, l),
					Programs: []needs.Program{p}}
				r := must.Get(minimal.Build(whole, []*needs.Needs{list}, minimal.Options{Hooks: true}))(t)
				blob := must.Get(btf.Parse(r.Vmlinux, nil))(t)
				vmlinux := must.Get(core.NewBTF(blob, nil))(t)
				names := needs.Names(list)
				before := whole.Index(names)
				after := (&core.Kernel{Vmlinux: vmlinux}).Index(names)
				for _, r := range p.Relocations {
					local := must.Get(core.Parse(list.Local, r))(t)
					want, got := before.Resolve(local, 0), after.Resolve(local, 0)
					if want.Refused == nil && (got.Refused != nil || got.Value != want.Value ||
						got.Poison != want.Poison) {
						t.Errorf("%v: %+v, want %+v", r.Kind, got, want)
					}
				}
			})
		}
	}
}
