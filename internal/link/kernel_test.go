package link

import (
	"bytes"
	"os"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// kernelBTF is the running kernel's BTF, made by pahole: an independent sample of everything in the
// format.
func kernelBTF(t testing.TB) *btf.Blob {
	const path = "/sys/kernel/btf/vmlinux"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Skipf("SKIPPED: no BTF of a running kernel: %v", err)
	}
	b, err := btf.Parse(data, nil)
	must.OK(t, err)
	return b
}

func fromBTF(t testing.TB, blobs ...*btf.Blob) *object.Object {
	o := must.Get(object.FromBTF(object.Target{}, blobs...))(t)
	return o
}

func linkOne(t testing.TB, opt Options, inputs ...*object.Object) []byte {
	r := must.Get(Link(inputs, opt))(t)
	return r.BTF
}

func TestKernelIsItself(t *testing.T) {
	in := kernelBTF(t)
	out := linkOne(t, Options{}, fromBTF(t, in))
	b := must.Get(btf.Parse(out, nil))(t)
	t.Logf("%d types in, %d out", len(in.Types), len(b.Types))
	for _, v := range verify.Check(b, verify.Options{Sorted: true}) {
		t.Error(v)
	}
	checkExact(t, b)
	if found, sum := diff.Compare(diff.Side{in}, diff.Side{b}, diff.Options{}); !sum.Same() {
		t.Error(sum, found)
	}
	again := linkOne(t, Options{}, fromBTF(t, b))
	if !bytes.Equal(out, again) {
		t.Error("linking the result again changes it")
	}
}
