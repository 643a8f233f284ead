package pipeline

import (
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestOwnBase: a base with nearly all functions of a module was made from the same module.
func TestOwnBase(t *testing.T) {
	vmlinux := btf.NewBuilder(nil, nil, nil).Finish()
	split := func(base *btf.Blob, names string) ([]byte, *btf.Blob) {
		b := btf.NewBuilder(nil, base, nil)
		proto := b.FuncProto(0)
		for name := range strings.FieldsSeq(names) {
			b.Func(name, proto, btf.LinkageGlobal)
		}
		data := must.Get(b.Encode(btf.EncodeOptions{}))(t)
		return data, b.Blob
	}
	const ten = "a b c d e f g h i j"
	_, base := split(vmlinux, ten)
	for _, c := range []struct{ functions, want string }{
		{ten, "the last base has 10 of its 10 functions; was it made from the same file?"},
		{ten + " k", "the last base has 10 of its 11 functions; was it made from the same file?"},
		{ten + " k l m", ""},
		{"a b c", ""},
		{"k l m n o p", ""},
	} {
		data, _ := split(base, c.functions)
		if got := OwnBase(data, base); got != c.want {
			t.Errorf("%s: %q, want %q", c.functions, got, c.want)
		}
	}
	data, _ := split(vmlinux, ten)
	if got := OwnBase(data, vmlinux); got != "" {
		t.Errorf("on vmlinux: %q", got)
	}
}
