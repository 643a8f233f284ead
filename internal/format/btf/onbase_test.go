package btf_test

import (
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestCheckRefsKinds refers to each type of a base in each way. If CheckRefs returns an error, the
// kernel must refuse the BTF too. CheckRefs detects many of the pairs that the kernel refuses.
func TestCheckRefsKinds(t *testing.T) {
	base := btf.NewBuilder(nil, nil, nil)
	i := base.Int("int", 4, btf.IntSigned, 32)
	base.Float("double", 8)
	base.Fwd("f", false)
	base.Enum(btf.KindEnum, "e", 4, false, btf.Enumerator{NameOff: base.Name("E")})
	base.Ref(btf.KindPtr, "", i)
	base.Ref(btf.KindTypedef, "t", i)
	base.Array(i, i, 7)
	base.Composite(btf.KindStruct, "s", 0, false)
	proto := base.FuncProto(0)
	base.Func("g", proto, btf.LinkageStatic)
	v := base.Var("v", i, btf.LinkageGlobal)
	base.Datasec(".data", 8, btf.Secinfo{Type: v, Size: 4})
	base.DeclTag("tag", v, btf.DeclTagWhole)
	on := base.Finish()
	detected, refused := 0, 0
	for to := uint32(1); to < on.EndID(); to++ {
		for name, add := range map[string]func(b *btf.Builder){
			"PTR":      func(b *btf.Builder) { b.Ref(btf.KindPtr, "", to) },
			"TYPEDEF":  func(b *btf.Builder) { b.Ref(btf.KindTypedef, "u", to) },
			"CONST":    func(b *btf.Builder) { b.Ref(btf.KindConst, "", to) },
			"ARRAY":    func(b *btf.Builder) { b.Array(to, i, 1) },
			"VAR":      func(b *btf.Builder) { b.Var("w", to, btf.LinkageGlobal) },
			"FUNC":     func(b *btf.Builder) { b.Func("h", to, btf.LinkageStatic) },
			"DECL_TAG": func(b *btf.Builder) { b.DeclTag("tag", to, btf.DeclTagWhole) },
			"STRUCT": func(b *btf.Builder) {
				b.Composite(btf.KindStruct, "own", 64, false, btf.Member{NameOff: b.Name("m"), Type: to})
			},
			"FUNC_PROTO": func(b *btf.Builder) {
				b.FuncProto(0, btf.Param{NameOff: b.Name("p"), Type: to})
			},
			"DATASEC": func(b *btf.Builder) { b.Datasec(".bss", 64, btf.Secinfo{Type: to, Size: 64}) },
		} {
			b := btf.NewBuilder(nil, on, nil)
			add(b)
			split := b.Finish()
			err, violations := split.CheckRefs(), verify.Check(split, verify.Options{})
			if len(violations) > 0 {
				refused++
			}
			if err == nil {
				continue
			}
			detected++
			at, _ := on.ByID(to)
			if !strings.Contains(err.Error(), "which is "+on.KindName(at)+" in the base; was it made") {
				t.Error(err)
			}
			if len(violations) == 0 {
				t.Errorf("%s to %v: %v, but the kernel accepts it", name, at.Kind, err)
			}
		}
	}
	if detected*4 < refused*3 {
		t.Errorf("%d of %d detected", detected, refused)
	}
	t.Logf("%d of %d pairs that the kernel refuses are detected", detected, refused)
}

// TestOwnBase reads split BTF on itself. If it has only functions, another module may have the same
// ones, and a link doesn't leave out functions that a base has.
func TestOwnBase(t *testing.T) {
	kernel := btf.NewBuilder(nil, nil, nil)
	proto := kernel.FuncProto(0)
	vmlinux := kernel.Finish()
	for _, c := range []struct {
		name    string
		add     func(b *btf.Builder)
		refused bool
	}{
		{"nothing", func(*btf.Builder) {}, false},
		{"functions", func(b *btf.Builder) { b.Func("init", proto, btf.LinkageStatic) }, false},
		{"a type", func(b *btf.Builder) { b.Composite(btf.KindStruct, "s", 0, false) }, true},
	} {
		b := btf.NewBuilder(nil, vmlinux, nil)
		c.add(b)
		base := b.Finish()
		data, err := btf.Encode(base, btf.EncodeOptions{})
		must.OK(t, err)
		split, err := btf.Parse(data, base)
		must.OK(t, err)
		err = split.CheckRefs()
		if refused := err != nil && strings.Contains(err.Error(), "is the file its own base?"); refused !=
			c.refused {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
