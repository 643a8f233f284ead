package boot

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// distilled names the modules whose BTF is based on a distilled base. When the kernel loads such a
// module, it relocates the module's BTF to the kernel's BTF. If the value in the map is false, the
// distilled base is made from the BTF of the booted kernel; if it is true, from the BTF of a
// different kernel (see otherKernel).
var distilled = map[string]bool{
	"btrfs":         true,
	"kvm":           false,
	"nf_flow_table": true, // a BPF program calls its kfunc
	"nf_nat":        false,
	"nfsd":          true,
	"sctp":          true, // a BPF program traces its functions
	"vxlan":         true,
	"wireguard":     false,
	"xfs":           true,
}

// grown names the structs that are larger in the different kernel than in the booted kernel. The
// modules only have pointers to these structs, so the booted kernel must accept the different size
// when it looks them up in its BTF.
var grown = map[string]bool{
	"cred":           true,
	"mm_struct":      true,
	"net":            true,
	"sk_buff":        true,
	"super_block":    true,
	"task_struct":    true,
	"vm_area_struct": true,
}

// otherKernel writes the BTF of a different kernel than the booted one. In the file sameTypes,
// types only have different ids; in the file other, the structs in grown also have different sizes.
func (k kernel) otherKernel(t *testing.T, dir string) (sameTypes, other string) {
	t.Helper()
	sameTypes, other = filepath.Join(dir, "same-types.btf"), filepath.Join(dir, "other-kernel.btf")
	harness.MustRun(t, "", harness.Tool(t, "btfdedup"), "link", "-q", "-o", sameTypes, k.vmlinuxBTF())
	b := must.Get(btf.ReadOne(sameTypes, nil))(t)
	n := 0
	for i := range b.Types {
		if s := &b.Types[i]; s.Kind == btf.KindStruct && grown[b.TypeName(s)] {
			s.SizeOrType += 64
			n++
		}
	}
	if n < len(grown) {
		t.Fatalf("the kernel has %d of the structs %v", n, grown)
	}
	data := must.Get(btf.Encode(b, btf.EncodeOptions{}))(t)
	harness.WriteFile(t, other, string(data))
	return sameTypes, other
}

// embedDistilled makes BTF based on distilled bases for the modules in the map distilled. It
// replaces the files that embedAll wrote for these modules: the modules then contain the new BTF,
// and btfOf is the output of "btfdedup relocate", which is what the kernel must show.
func (k kernel) embedDistilled(t *testing.T, dir, image string) {
	t.Helper()
	btfgen, btfdedup := harness.Tool(t, "btfgen"), harness.Tool(t, "btfdedup")
	sameTypes, other := k.otherKernel(t, dir)
	found := 0
	for _, file := range slices.Sorted(maps.Keys(distilled)) {
		changed := distilled[file]
		name := kernelName(file)
		at := func(suffix string) string { return filepath.Join(dir, name+suffix) }
		base, split := at(".base.btf"), at(".distilled.btf")
		out := filepath.Join(image, k.moduleIn(name))
		if changed {
			harness.MustRun(t, "", btfgen, "elf", "-q", "--base="+sameTypes, "-o", at(".btf"),
				k.debug(file))
			harness.MustRun(t, "", btfdedup, "link", "-q", "--base="+other, "--distilled-base="+base,
				"-o", split, at(".btf"))
			found += countGrown(t, base)
		} else {
			harness.MustRun(t, "", btfgen, "elf", "-q", "--base="+k.vmlinuxBTF(),
				"--distilled-base="+base, "-o", split, k.debug(file))
		}
		harness.MustRun(t, "", btfdedup, "embed", "--drop-signature", "--resolve-ids",
			"--old-base="+k.vmlinuxBTF(), "--btf="+split, "--btf-base="+base, "-o", out, k.shipped(file))
		direct := harness.ReadFile(t, k.btfOf(dir, name))
		must.OK(t, os.Remove(k.btfOf(dir, name)))
		harness.MustRun(t, "", btfdedup, "relocate", "--base="+k.vmlinuxBTF(), "-o",
			k.btfOf(dir, name), out)
		moved := harness.ReadFile(t, k.btfOf(dir, name))
		t.Logf("%s: %d bytes on a distilled base, %d after relocation, %d if made on the kernel's BTF",
			name, len(harness.ReadFile(t, split)), len(moved), len(direct))
		if string(moved) == string(direct) {
			t.Errorf("%s: the relocated BTF equals the BTF made on the kernel's BTF, but it should have "+
				"more anonymous types, because a distilled base has only named types", name)
		}
	}
	if found < len(grown) {
		t.Errorf("the distilled bases have %d structs of a different size, want at least %d", found,
			len(grown))
	}
}

// countGrown counts the structs in a distilled base that the map grown names.
func countGrown(t *testing.T, path string) int {
	t.Helper()
	b := must.Get(btf.ReadOne(path, nil))(t)
	n := 0
	for i := range b.Types {
		if s := &b.Types[i]; s.Kind == btf.KindStruct && grown[b.TypeName(s)] {
			n++
		}
	}
	return n
}
