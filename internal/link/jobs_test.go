package link

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// manyTypes returns units with enough types and names for all work to be divided among threads.
func manyTypes() (*builder, *facts.Facts) {
	b, x := newBuilder(), &facts.Facts{Kfuncs: []facts.Kfunc{{Name: "f7"}, {Name: "f8"}}}
	for u := range 300 {
		b.Unit(fmt.Sprintf("%d.c", u), 1)
		i := b.Int("int")
		conflict := b.Struct("conflict", slices.Repeat([]types.ID{i}, 1+u%3)...)
		b.Last().Items = append(b.Last().Items, i, conflict)
		for k := range 60 {
			s := b.Struct(fmt.Sprintf("s%d_%d", u, k), b.Ptr(b.Stub(fmt.Sprintf("s%d_%d", k, u%60))),
				i)
			b.Last().Items = append(b.Last().Items, s)
			f := b.Add(types.Node{Kind: types.KindFunc, Name: b.Str(fmt.Sprintf("f%d", u*60+k)), Aux: 1,
				Ref: b.Proto(i, b.Ptr(b.Stub(fmt.Sprintf("s%d_%d", u, k))),
					b.Ptr(b.Stub("conflict")))})
			b.Last().Items = append(b.Last().Items, f)
			x.Globals = append(x.Globals, fmt.Sprintf("f%d", u*60+k))
		}
	}
	slices.Sort(x.Globals)
	return b, x
}

func TestThreadsDontShow(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		var want []byte
		for jobs := 1; jobs <= 5; jobs += 2 {
			b, x := manyTypes()
			b.Target.Order = order
			res, err := Link([]*object.Object{b.Object}, Options{Facts: x, Features: features.Default(),
				Jobs: jobs})
			must.OK(t, err)
			if jobs > 1 {
				if !bytes.Equal(res.BTF, want) {
					t.Errorf("%v: %d threads give a different result from one", order, jobs)
				}
				continue
			}
			want = res.BTF
			blob, err := btf.Parse(want, nil)
			must.OK(t, err)
			if len(blob.Types) < 4<<13 || res.Conflicts != 1 {
				t.Errorf("%d types, %d conflicts: too few to tell", len(blob.Types), res.Conflicts)
			}
			for _, v := range verify.Check(blob, verify.Options{Sorted: true}) {
				t.Error(v)
			}
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		what string
		add  func(b *builder, name string) types.ID
		ok   bool // any name is accepted
	}{
		{"int", func(b *builder, name string) types.ID { return b.Int(name) }, true},
		{"struct", func(b *builder, name string) types.ID { return b.Struct(name, b.Int("int")) },
			false},
		{"declared struct", func(b *builder, name string) types.ID { return b.Ptr(b.Stub(name)) },
			false},
		{"typedef", func(b *builder, name string) types.ID {
			return b.Add(types.Node{Kind: types.KindTypedef, Name: b.Str(name), Ref: b.Int("int")})
		}, false},
		{"enumerator", func(b *builder, name string) types.ID {
			return b.Add(types.Node{Kind: types.KindEnum, Name: b.Str("e"), Size: 4},
				types.Elem{Name: b.Str(name)})
		}, false},
		{"function", func(b *builder, name string) types.ID {
			return b.Fn(name, 1, 0,
				b.Proto(b.Int("int")))
		}, true}, // the function is left out
	} {
		longest := strings.Repeat("x", btf.MaxNameLen)
		for name, valid := range map[string]bool{"fine": true, "\xe9t\xe9": true, longest: true,
			longest + "x": false, "1st": false, "long int": false} {
			b := newBuilder()
			b.Unit("a.c", 1)
			b.Hold(c.add(b, name))
			_, err := Link([]*object.Object{b.Object},
				Options{Facts: &facts.Facts{Globals: []string{name}},
					Features: features.Default()})
			if valid || c.ok {
				if err != nil {
					t.Errorf("%s named %q: %v", c.what, name, err)
				}
			} else if err == nil || !strings.Contains(err.Error(),
				fmt.Sprintf("%.100q, which is not an identifier", name)) {
				t.Errorf("%s named %q: error is %v", c.what, name, err)
			}
		}
	}
}
