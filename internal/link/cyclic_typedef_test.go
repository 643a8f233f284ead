package link

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// returnsItself returns BTF with a typedef f of a pointer to a function that returns f, as in a
// test of libbpf. The cycle leads to struct s, whose last member has the given name.
func returnsItself(last string) *btf.Blob {
	b := btf.NewBuilder(nil, nil, nil)
	f := b.Ref(btf.KindTypedef, "f", 2)
	b.Ref(btf.KindPtr, "", 3)
	b.FuncProto(f, btf.Param{NameOff: b.Name("p"), Type: 4})
	b.Ref(btf.KindPtr, "", 5)
	b.Composite(btf.KindStruct, "s", 16, false, btf.Member{NameOff: b.Name("f"), Type: f},
		btf.Member{NameOff: b.Name(last), Type: 4, Offset: 64})
	b.Ref(btf.KindTypedef, "again", f)
	return b.Finish()
}

// TestTypedefsInCycles links typedefs that lead to themselves without passing through a tag: alone,
// together, and as split BTF. Then it links all results again.
func TestTypedefsInCycles(t *testing.T) {
	check := func(name string, types int, opt Options, objs ...*object.Object) *btf.Blob {
		t.Helper()
		out := linkOne(t, opt, objs...)
		b, err := btf.Parse(out, blobOf(opt.Base))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if v := verify.Check(b, verify.Options{}); len(v) > 0 {
			t.Errorf("%s: the kernel would refuse it: %v", name, v[0])
		}
		if len(b.Types) != types {
			t.Errorf("%s: %d types, want %d", name, len(b.Types), types)
		}
		if again := linkOne(t, opt, fromBTF(t, b)); !bytes.Equal(out, again) {
			ab, _ := btf.Parse(again, blobOf(opt.Base))
			t.Errorf("%s: linking again changes the result:\n%s", name, contrast(b, ab))
		}
		return b
	}
	one, other := returnsItself("one"), returnsItself("other")
	base := check("one", 6, Options{}, fromBTF(t, one))
	check("twice", 6, Options{}, fromBTF(t, one), fromBTF(t, one))
	two := check("two", 12, Options{}, fromBTF(t, one), fromBTF(t, other))
	if swapped := check("two", 12, Options{}, fromBTF(t, other), fromBTF(t, one)); contrast(two,
		swapped) != contrast(two, two) {
		t.Error("the order of objects changes the result")
	}
	m, err := object.Merge(fromBTF(t, other), fromBTF(t, one))
	must.OK(t, err)
	data, err := object.Write(m, 1)
	must.OK(t, err)
	path := filepath.Join(t.TempDir(), "merged.btfo")
	must.OK(t, os.WriteFile(path, data, 0o666))
	if m, err = object.ReadFile(path, nil); err != nil {
		t.Fatal(err)
	}
	check("merged", 12, Options{}, m)
	split := Options{Base: on(t, base)}
	check("nothing new", 0, split, fromBTF(t, one))
	check("split", 6, split, fromBTF(t, other))
}
