package relocate_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/inspect/dump"
	"github.com/rules-btf/rules_btf/internal/kernel/btfload"
	"github.com/rules-btf/rules_btf/internal/kernel/distill"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// kernel returns the base for which the modules of these tests were made. The function change,
// unless nil, alters some types to make a different base.
func kernel(change func(k *kernelTypes)) *btf.Blob {
	k := &kernelTypes{Builder: btf.NewBuilder(nil, nil, nil), deviceSize: 16, listSize: 8,
		mode: btf.KindEnum, modeSize: 4}
	if change != nil {
		change(k)
	}
	integer := k.Int("int", 4, btf.IntSigned, 0)
	if !k.noList {
		k.Composite(btf.KindStruct, "list", k.listSize, false,
			btf.Member{NameOff: k.Name("first"), Type: integer})
	}
	k.Composite(btf.KindStruct, "device", k.deviceSize, false,
		btf.Member{NameOff: k.Name("irq"), Type: integer})
	k.Enum(k.mode, "mode", k.modeSize, false, btf.Enumerator{NameOff: k.Name("ON"), Value: 1})
	k.Fwd("file", false)
	if k.after != nil {
		k.after(k.Builder)
	}
	return k.Finish()
}

type kernelTypes struct {
	*btf.Builder
	deviceSize, listSize, modeSize uint32
	mode                           btf.Kind
	noList                         bool
	after                          func(b *btf.Builder) // adds types
}

// id finds a type of a blob by its name.
func id(b *btf.Blob, name string) uint32 {
	for i := range b.Types {
		if b.TypeName(&b.Types[i]) == name {
			return b.StartID + uint32(i)
		}
	}
	panic("no type " + name)
}

// pointing makes split BTF with a pointer to a type of the base. embedding makes split BTF with a
// struct, in which a member is an array of that type.
func pointing(name string) func(m *btf.Builder) {
	return func(m *btf.Builder) { m.Ref(btf.KindPtr, "", id(m.Blob.Base, name)) }
}

func embedding(name string) func(m *btf.Builder) {
	return func(m *btf.Builder) {
		typedef := m.Ref(btf.KindTypedef, "typedef", id(m.Blob.Base, name))
		array := m.Array(typedef, id(m.Blob.Base, "int"), 2)
		m.Composite(btf.KindStruct, "own", 64, false, btf.Member{NameOff: m.Name("m"), Type: array})
	}
}

// distilledModule makes split BTF on the kernel, and distills its base.
func distilledModule(t *testing.T, add func(m *btf.Builder)) (distilled, split []byte) {
	t.Helper()
	base := kernel(nil)
	m := btf.NewBuilder(nil, base, nil)
	add(m)
	distilled, split = must.Get2(distill.Encode(encode(t, m.Finish()), base))(t)
	return distilled, split
}

// changedBases pairs modules with bases that differ from the one on which the modules were made.
// TestLikeLibbpf compares the results with libbpf's.
var changedBases = []struct {
	what  string
	split func(m *btf.Builder)
	base  func() *btf.Blob
	err   string // part of the error, "" if the BTF fits
}{
	{"the same base", embedding("list"), func() *btf.Blob { return kernel(nil) }, ""},
	{"types moved, strings too", embedding("device"), func() *btf.Blob {
		return kernel(func(k *kernelTypes) { k.Composite(btf.KindUnion, "new", 4, false) })
	}, ""},
	{"a member added to a struct that is pointed to", pointing("device"), func() *btf.Blob {
		return kernel(func(k *kernelTypes) { k.deviceSize = 24 })
	}, ""},
	{"a member added to a struct that is embedded", embedding("device"), func() *btf.Blob {
		return kernel(func(k *kernelTypes) { k.deviceSize = 24 })
	}, "type [1] STRUCT device (16 bytes) of the distilled base is not in the base, which has" +
		" [3] STRUCT device (24 bytes); [4] STRUCT own embeds it, so its size must be the same"},
	{"another size of an enum", pointing("mode"), func() *btf.Blob {
		return kernel(func(k *kernelTypes) { k.modeSize = 1 })
	}, "type [1] ENUM mode (4 bytes) of the distilled base is not in the base, which has" +
		" [4] ENUM mode (1 byte)"},
	{"another kind of enum", pointing("mode"), func() *btf.Blob {
		return kernel(func(k *kernelTypes) { k.mode = btf.KindEnum64 })
	}, ""},
	{"a struct removed", pointing("list"), func() *btf.Blob {
		return kernel(func(k *kernelTypes) { k.noList = true })
	}, "type [1] STRUCT list (8 bytes) of the distilled base is not in the base, which has no type" +
		" of that name"},
	{"two structs removed", func(m *btf.Builder) { pointing("list")(m); pointing("device")(m) },
		func() *btf.Blob {
			b := btf.NewBuilder(nil, nil, nil)
			b.Ref(btf.KindTypedef, "device", b.Int("int", 4, 1, 0))
			return b.Finish()
		}, "which has no type of that name; the base lacks 1 more type"},
	{"a second struct of that name and size", pointing("list"), func() *btf.Blob {
		return kernel(func(k *kernelTypes) {
			k.after = func(b *btf.Builder) { b.Composite(btf.KindStruct, "list", 8, false) }
		})
	}, "type [1] STRUCT list (8 bytes) of the distilled base is ambiguous:" +
		" the base has [2] STRUCT list (8 bytes) and [6] STRUCT list (8 bytes)"},
	{"a second struct of another size", pointing("list"), func() *btf.Blob {
		return kernel(func(k *kernelTypes) {
			k.after = func(b *btf.Builder) { b.Composite(btf.KindStruct, "list", 32, false) }
		})
	}, ""},
	{"two structs of other sizes", pointing("list"), func() *btf.Blob {
		return kernel(func(k *kernelTypes) {
			k.listSize = 16
			k.after = func(b *btf.Builder) { b.Composite(btf.KindStruct, "list", 32, false) }
		})
	}, "which has [2] STRUCT list (16 bytes), [6] STRUCT list (32 bytes)"},
	{"a struct that was only declared is defined", pointing("file"), func() *btf.Blob {
		b := btf.NewBuilder(nil, nil, nil)
		b.Composite(btf.KindStruct, "file", 4, false)
		return b.Finish()
	}, ""},
	{"a struct that was only declared is a union", pointing("file"), func() *btf.Blob {
		b := btf.NewBuilder(nil, nil, nil)
		b.Composite(btf.KindUnion, "file", 4, false)
		return b.Finish()
	}, "type [1] FWD file (a struct) of the distilled base is not in the base, which has" +
		" [1] UNION file (4 bytes)"},
	{"another encoding", pointing("int"), func() *btf.Blob {
		b := btf.NewBuilder(nil, nil, nil)
		b.Int("int", 4, 0, 0)
		return b.Finish()
	}, "which has [1] INT int (4 bytes, encoding 0)"},
}

// TestChangedBase puts modules on bases that have changed in each way. If a module can be
// relocated, its types must mean the same as before, and the kernel must accept them.
func TestChangedBase(t *testing.T) {
	for _, c := range changedBases {
		t.Run(c.what, func(t *testing.T) {
			rawBase, rawSplit := distilledModule(t, c.split)
			split := parse(t, rawSplit, parse(t, rawBase, nil))
			base := c.base()
			got, err := relocate.Relocate(split, base)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error: %v\nwant:  %s", err, c.err)
				}
				return
			}
			must.OK(t, err)
			if !bytes.Equal(rawSplit, encode(t, split)) {
				t.Error("the input was changed")
			}
			for _, v := range verify.Check(got, verify.Options{Sorted: true}) {
				t.Error(v)
			}
			if got.StartID != base.EndID() || got.BaseStrLen != base.EndStr() || got.Base != base {
				t.Errorf("ids from %d, strings from %d", got.StartID, got.BaseStrLen)
			}
			checkLoads(t, base, got)
		})
	}
}

// checkLoads checks that the running kernel loads base and split BTF, joined into one blob.
func checkLoads(t *testing.T, base, split *btf.Blob) {
	t.Helper()
	b := *base
	b.Types = append(b.Types[:len(b.Types):len(b.Types)], split.Types...)
	for i := len(base.Types); i < len(b.Types); i++ {
		t := &b.Types[i]
		switch t.Kind {
		case btf.KindStruct, btf.KindUnion:
			t.First += uint32(len(base.Members))
		case btf.KindArray:
			t.First += uint32(len(base.Arrays))
		case btf.KindFuncProto:
			t.First += uint32(len(base.Params))
		}
	}
	b.Members = append(b.Members[:len(b.Members):len(b.Members)], split.Members...)
	b.Arrays = append(b.Arrays[:len(b.Arrays):len(b.Arrays)], split.Arrays...)
	b.Params = append(b.Params[:len(b.Params):len(b.Params)], split.Params...)
	b.Strings += split.Strings
	switch err := btfload.Load(encode(t, &b), 1<<16).(type) {
	case nil:
	case *btfload.RefusedError:
		t.Error(err)
	default:
		t.Logf("not tested with the running kernel: %v", err)
	}
}

// TestBackAgain distills the bases of random modules, and relocates the modules to their original
// bases, which must give the same types as before.
func TestBackAgain(t *testing.T) {
	for seed := range int64(300) {
		p := changedProblem(t, seed)
		base, module := originals(seed)
		got, err := relocate.Relocate(parse(t, p.split, parse(t, p.distilled, nil)), base)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		found, summary := diff.Compare(diff.Side{module}, diff.Side{got}, diff.Options{})
		if !summary.Same() {
			t.Errorf("seed %d: %v", seed, found)
		}
	}
}

// TestChain puts a module on a base that is itself split BTF.
func TestChain(t *testing.T) {
	rawBase, rawSplit := distilledModule(t, func(m *btf.Builder) {
		embedding("list")(m)
		pointing("device")(m)
	})
	deep := btf.NewBuilder(nil, nil, nil)
	deep.Composite(btf.KindStruct, "device", 16, false)
	deep.Int("int", 4, btf.IntSigned, 0)
	upper := btf.NewBuilder(nil, deep.Finish(), nil)
	list := upper.Composite(btf.KindStruct, "list", 8, false)
	base := upper.Finish()
	got := must.Get(relocate.Relocate(parse(t, rawSplit, parse(t, rawBase, nil)), base))(t)
	again := parse(t, encode(t, got), base)
	typedef, _ := again.ByID(id(again, "typedef"))
	if typedef.SizeOrType != list || again.StartID != list+1 {
		t.Errorf("the typedef is of [%d], list is [%d]", typedef.SizeOrType, list)
	}
	pointers := 0
	for i := range again.Types {
		if p := &again.Types[i]; p.Kind == btf.KindPtr && p.SizeOrType == 1 {
			pointers++
		}
	}
	if pointers != 1 {
		t.Errorf("%d pointers to [1] STRUCT device, want 1", pointers)
	}
}

// TestTwoBlobs cuts modules in two blobs, as if the types of the second were those of the sites of
// inlined functions. Relocating both must give the same types, or the same error, as relocating the
// whole module.
func TestTwoBlobs(t *testing.T) {
	cuts := 0
	for seed := range int64(200) {
		p := changedProblem(t, seed)
		base, distilled := parse(t, p.base, nil), parse(t, p.distilled, nil)
		whole := parse(t, p.split, distilled)
		want, wantErr := relocate.Relocate(whole, base)
		for n := range whole.Types {
			upper := cut(whole, n)
			if upper == nil {
				continue
			}
			cuts++
			got, err := relocate.Relocate(upper, base)
			if fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("seed %d, %d types: error %v, want %v", seed, n, err, wantErr)
			}
			if err == nil && printed(t, got.Base)+printed(t, got) != printed(t, want) {
				t.Fatalf("seed %d, %d types: %s%swant\n%s", seed, n, printed(t, got.Base), printed(t, got),
					printed(t, want))
			}
		}
	}
	if cuts < 500 {
		t.Errorf("only %d modules with two blobs", cuts)
	}
}

// cut returns the types of b after the first n, as a blob that is based on one with the first n. It
// returns nil if one of the first n refers to a later one.
func cut(b *btf.Blob, n int) *btf.Blob {
	lower, upper := *b, *b
	if lower.Types = b.Types[:n]; lower.CheckRefs() != nil {
		return nil
	}
	upper.Types, upper.Strings, upper.Base = b.Types[n:], "", &lower
	upper.StartID, upper.BaseStrLen = lower.EndID(), lower.EndStr()
	return &upper
}

func printed(t *testing.T, b *btf.Blob) string {
	t.Helper()
	var text strings.Builder
	must.OK(t, dump.Raw(&text, b))
	return text.String()
}

// TestRefuses tests BTF that a distillation never makes.
func TestRefuses(t *testing.T) {
	kernel := kernel(nil)
	on := func(base func(b *btf.Builder), add func(m *btf.Builder)) *btf.Blob {
		b := btf.NewBuilder(nil, nil, nil)
		base(b)
		m := btf.NewBuilder(nil, b.Finish(), nil)
		if add != nil {
			add(m)
		}
		return m.Finish()
	}
	oneInt := func(b *btf.Builder) { b.Int("int", 4, btf.IntSigned, 0) }
	big := btf.NewBuilder(binary.BigEndian, on(oneInt, nil).Base, nil).Finish()
	for _, c := range []struct {
		split *btf.Blob
		want  string
	}{
		{kernel, "it has no distilled base"},
		{big, "different byte orders"},
		{on(func(b *btf.Builder) { b.Ref(btf.KindPtr, "", 0) }, nil), "has [1] PTR, but only INT"},
		{on(func(b *btf.Builder) { b.Enum(btf.KindEnum64, "e", 8, false) }, nil),
			"has [1] ENUM64 e, but only"},
		{on(func(b *btf.Builder) { b.Composite(btf.KindStruct, "", 4, false) }, nil),
			"an anonymous type, [1] STRUCT"},
		{on(func(b *btf.Builder) {
			for range 65 {
				oneInt(b)
			}
		}, nil), `more than 64 types named "int"`},
		{on(oneInt, func(m *btf.Builder) { m.Ref(btf.KindPtr, "", 9) }), "[2] refers to [9]"},
		{on(func(b *btf.Builder) { b.Name("more"); oneInt(b) },
			func(m *btf.Builder) { m.Ref(btf.KindTypedef, "more", 1) }),
			`[2] TYPEDEF: the string "more" (offset 1) of the distilled base isn't the name of a type`},
		{on(oneInt, func(m *btf.Builder) {
			m.Ref(btf.KindTypedef, "loop", m.Ref(btf.KindConst, "", 3))
			m.Composite(btf.KindStruct, "s", 4, false, btf.Member{NameOff: m.Name("m"), Type: 2})
		}), "leads to itself"},
		{on(oneInt, func(m *btf.Builder) { m.Add(btf.Type{Kind: btf.KindPtr, NameOff: 99}) }),
			"string offset 99"},
		{func() *btf.Blob {
			m := btf.NewBuilder(nil, on(oneInt, nil), nil)
			m.Ref(btf.KindPtr, "", 9)
			return m.Finish()
		}(), "[2] refers to [9]"},
	} {
		if _, err := relocate.Relocate(c.split, kernel); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("error: %v\nwant:  %s", err, c.want)
		}
	}
}

// FuzzRelocate relocates any blobs; the result must be readable.
func FuzzRelocate(f *testing.F) {
	for seed := range int64(8) {
		p, q := changedProblem(f, seed), wildProblem(f, seed)
		f.Add(p.distilled, p.split, p.base)
		f.Add(q.distilled, q.split, q.base)
	}
	one := btf.NewBuilder(nil, nil, nil)
	one.Int("int", 4, 0, 0)
	distilled := one.Finish()
	split := btf.NewBuilder(nil, distilled, nil)
	fn := split.Func("f", split.FuncProto(1), btf.LinkageStatic)
	split.Locsec("inline.text", btf.Site{Func: fn, LocProto: split.LocProto(split.LocParam(8, 8, 5))})
	f.Add(encode(f, distilled), encode(f, split.Finish()), encode(f, distilled))
	f.Fuzz(func(t *testing.T, rawDistilled, rawSplit, rawBase []byte) {
		distilled, err := btf.Parse(rawDistilled, nil)
		if err != nil {
			return
		}
		split, err := btf.Parse(rawSplit, distilled)
		if err != nil {
			return
		}
		base, err := btf.Parse(rawBase, nil)
		if err != nil {
			return
		}
		got, err := relocate.Relocate(split, base)
		if err != nil {
			return
		}
		data, err := btf.Encode(got, btf.EncodeOptions{})
		if err != nil {
			return
		}
		must.Get(btf.Parse(data, base))(t)
		if upper := cut(split, len(split.Types)/2); upper != nil {
			moved, err := relocate.Relocate(upper, base)
			if err != nil || printed(t, moved.Base)+printed(t, moved) != printed(t, got) {
				t.Errorf("with two blobs, there is another result, %v", err)
			}
		}
	})
}
