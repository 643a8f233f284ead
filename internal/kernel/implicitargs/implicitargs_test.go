package implicitargs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// builder makes BTF, with some types for parameters.
type builder struct {
	*btf.Builder
	num, aux, constAux, meta, plain uint32
}

func newBuilder(base *btf.Blob) *builder {
	b := &builder{Builder: btf.NewBuilder(binary.LittleEndian, base, nil)}
	b.num = b.Int("int", 4, btf.IntSigned, 0)
	aux := b.Composite(btf.KindStruct, "bpf_prog_aux", 4, false, btf.Member{NameOff: b.Name("x"),
		Type: b.num})
	b.aux = b.Ref(btf.KindPtr, "", aux)
	b.constAux = b.Ref(btf.KindConst, "", b.Ref(btf.KindPtr, "", b.Ref(btf.KindConst, "", aux)))
	b.meta = b.Ref(btf.KindPtr, "", b.Composite(btf.KindStruct, "btf_struct_meta", 0, false))
	b.plain = b.Ref(btf.KindPtr, "", b.Composite(btf.KindUnion, "bpf_prog_aux_", 0, false))
	return b
}

// kfunc adds a function with declaration tags, and with parameters a, b, c … of the given types.
func (b *builder) kfunc(name string, tags []string, params ...uint32) uint32 {
	var list []btf.Param
	for i, p := range params {
		if p == 0 {
			list = append(list, btf.Param{})
			continue
		}
		list = append(list, btf.Param{NameOff: b.Name(string(rune('a' + i))), Type: p})
	}
	id := b.Func(name, b.FuncProto(b.num, list...), btf.LinkageStatic)
	for _, tag := range tags {
		b.DeclTag(tag, id, btf.DeclTagWhole)
	}
	return id
}

// signatures lists the functions in a blob in order, with the names and tags of their parameters.
func signatures(b *btf.Blob) []string {
	var list []string
	for i := range b.Types {
		t := &b.Types[i]
		if t.Kind != btf.KindFunc {
			continue
		}
		text := b.TypeName(t) + "("
		proto, in := b.ByID(t.SizeOrType)
		for _, p := range in.ParamsOf(proto) {
			name, _ := in.Name(p.NameOff)
			if p == (btf.Param{}) {
				name = "..."
			}
			text += name
		}
		text += ")"
		var tags []string
		for j := range b.Types {
			if tag := &b.Types[j]; tag.Kind == btf.KindDeclTag && tag.SizeOrType == b.StartID+uint32(i) {
				tags = append(tags, fmt.Sprintf(" %s/%d/%v", b.TypeName(tag), int32(tag.Extra), tag.KFlag))
			}
		}
		slices.Sort(tags)
		list = append(list, text+strings.Join(tags, ""))
	}
	return list
}

const kfuncTag = "bpf_kfunc"

var rewriteTests = []struct {
	name   string
	make   func(b *builder)
	kfuncs []string
	want   []string
}{
	{
		name: "the implicit arguments are removed",
		make: func(b *builder) {
			b.kfunc("k", []string{kfuncTag}, b.num, b.aux)
			b.kfunc("m", []string{kfuncTag}, b.num, b.num, b.meta, b.aux)
		},
		kfuncs: []string{"k", "m"},
		want: []string{"k(a) bpf_kfunc/-1/false", "k_impl(ab)", "m(ab) bpf_kfunc/-1/false",
			"m_impl(abcd)"},
	},
	{
		name: "all arguments from the first implicit one on are removed; modifiers don't matter",
		make: func(b *builder) {
			b.kfunc("k", []string{kfuncTag}, b.plain, b.constAux, b.num, 0)
		},
		kfuncs: []string{"k"},
		want:   []string{"k(a) bpf_kfunc/-1/false", "k_impl(abc...)"},
	},
	{
		name: "without implicit arguments, variadic",
		make: func(b *builder) {
			b.kfunc("k", []string{kfuncTag}, b.num, 0)
		},
		kfuncs: []string{"k"},
		want:   []string{"k(a...) bpf_kfunc/-1/false", "k_impl(a...)"},
	},
	{
		name: "tags are copied",
		make: func(b *builder) {
			id := b.kfunc("k", []string{"bpf_fastcall", kfuncTag, "x"}, b.num, b.aux)
			b.Add(btf.Type{Kind: btf.KindDeclTag, NameOff: b.Name("attribute"), SizeOrType: id, Extra: 0,
				KFlag: true})
		},
		kfuncs: []string{"k"},
		want: []string{"k(a) attribute/0/true bpf_fastcall/-1/false bpf_kfunc/-1/false x/-1/false",
			"k_impl(ab) attribute/0/true bpf_fastcall/-1/false x/-1/false"},
	},
	{
		name: "the function with the suffix already exists",
		make: func(b *builder) {
			b.kfunc("k", []string{kfuncTag}, b.num, b.aux)
			b.kfunc("k_impl", []string{kfuncTag}, b.num, b.num, b.num)
		},
		kfuncs: []string{"k"},
		want:   []string{"k(a) bpf_kfunc/-1/false", "k_impl(abc) bpf_kfunc/-1/false"},
	},
	{
		name: "a function that isn't a kfunc with that flag stays",
		make: func(b *builder) {
			b.kfunc("other", []string{kfuncTag}, b.aux)
			b.kfunc("untagged", nil, b.aux)
			id := b.kfunc("parameter", nil, b.aux)
			b.DeclTag(kfuncTag, id, 0)
			id = b.kfunc("attribute", nil, b.aux)
			b.Add(btf.Type{Kind: btf.KindDeclTag, NameOff: b.Name(kfuncTag), SizeOrType: id,
				Extra: btf.DeclTagWhole, KFlag: true})
		},
		kfuncs: []string{"attribute", "missing", "parameter", "untagged"},
		want: []string{"attribute(a) bpf_kfunc/-1/true", "other(a) bpf_kfunc/-1/false",
			"parameter(a) bpf_kfunc/0/false", "untagged(a)"},
	},
}

func TestRewrite(t *testing.T) {
	for _, split := range []bool{false, true} {
		for _, test := range rewriteTests {
			t.Run(fmt.Sprintf("%s, split %v", test.name, split), func(t *testing.T) {
				var base *btf.Blob
				if split {
					base = newBuilder(nil).Finish()
				}
				b := newBuilder(base)
				test.make(b)
				in := canonical(t, b.Finish())
				before := encode(t, in)
				out, err := Rewrite(in, test.kfuncs, 1)
				must.OK(t, err)
				got := parse(t, out, base)
				if list := signatures(got); !slices.Equal(list, test.want) {
					t.Errorf("%q\nwant %q", list, test.want)
				}
				if v := verify.Check(got, verify.Options{Sorted: true}); len(v) > 0 {
					t.Error(v)
				}
				if !bytes.Equal(encode(t, in), before) {
					t.Error("the input has changed")
				}
				again, err := Rewrite(got, test.kfuncs, 2)
				if err != nil || !bytes.Equal(again, out) {
					t.Errorf("a second rewrite changes the BTF: %v, %q", err, signatures(parse(t, again, base)))
				}
			})
		}
	}
}

// TestRewriteOrder: the result doesn't depend on the order of names or types. If there is nothing
// to change, the result is identical to the linked BTF.
func TestRewriteOrder(t *testing.T) {
	make := func(names ...string) *btf.Blob {
		b := newBuilder(nil)
		for _, name := range names {
			b.kfunc(name, []string{kfuncTag}, b.num, b.aux)
		}
		return b.Finish()
	}
	first, err := Rewrite(make("k", "l", "m"), []string{"k", "m"}, 1)
	must.OK(t, err)
	second, err := Rewrite(make("m", "l", "k"), []string{"m", "k"}, 2)
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("a different order gives a different result: %v", err)
	}
	linked := canonical(t, make("k", "l"))
	same, err := Rewrite(linked, nil, 1)
	if err != nil || !bytes.Equal(same, encode(t, linked)) {
		t.Errorf("the BTF has changed, though nothing had to be rewritten: %v", err)
	}
}

func TestRewriteKeepsTheLayout(t *testing.T) {
	b := newBuilder(nil)
	b.kfunc("k", []string{kfuncTag}, b.num, b.aux)
	raw := must.Get(b.Encode(btf.EncodeOptions{Layout: true}))(t)
	out := must.Get(Rewrite(parse(t, raw, nil), []string{"k"}, 1))(t)
	if parse(t, out, nil).Header.LayoutLen == 0 {
		t.Errorf("no %v", features.Layout)
	}
}

func TestLeft(t *testing.T) {
	base := newBuilder(nil)
	base.kfunc("in_base", []string{kfuncTag}, base.num, base.aux)
	b := newBuilder(base.Finish())
	b.kfunc("done", []string{kfuncTag}, b.num)
	b.kfunc("left", []string{kfuncTag}, b.num, b.meta)
	b.kfunc("other", []string{kfuncTag}, b.num, b.meta)
	got := Left(b.Finish(), []string{"done", "in_base", "left", "missing"})
	if want := []string{"in_base", "left"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestModifiersInACycle(t *testing.T) {
	b := btf.NewBuilder(binary.LittleEndian, nil, nil)
	b.Add(btf.Type{Kind: btf.KindConst, SizeOrType: 2})
	b.Add(btf.Type{Kind: btf.KindVolatile, SizeOrType: 1})
	proto := b.FuncProto(0, btf.Param{NameOff: b.Name("a"), Type: 1})
	b.DeclTag(kfuncTag, b.Func("k", proto, btf.LinkageGlobal), btf.DeclTagWhole)
	if left := Left(b.Finish(), []string{"k"}); left != nil {
		t.Error(left)
	}
	if _, err := Rewrite(b.Finish(), []string{"k"}, 1); err == nil {
		t.Log("the link accepts the cycle")
	}
}

func canonical(t *testing.T, b *btf.Blob) *btf.Blob {
	t.Helper()
	o := must.Get(object.FromBTF(object.Target{}, b))(t)
	opt := link.Options{Jobs: 1}
	if b.Base != nil {
		parsed := must.Get(base.Parse(b.Base))(t)
		opt.Base = parsed
	}
	result := must.Get(link.Link([]*object.Object{o}, opt))(t)
	return parse(t, result.BTF, b.Base)
}

func encode(t *testing.T, b *btf.Blob) []byte {
	t.Helper()
	data := must.Get(btf.Encode(b, btf.EncodeOptions{}))(t)
	return data
}

func parse(t *testing.T, data []byte, base *btf.Blob) *btf.Blob {
	t.Helper()
	b := must.Get(btf.Parse(data, base))(t)
	return b
}
