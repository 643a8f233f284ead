package shipped

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/kernel/loader"
)

func byLabel(a, b kernel) int { return cmp.Compare(a.Label, b.Label) }

// pickKernels sets f.Kernels to one kernel for each release. The inputs may have a kernel several
// times: for example, signed and unsigned, or as vmlinux and vmlinuz.
// Rule: modules without vmlinux, so without a base. In btfdedup verify, it is an error.
func (f *Found) pickKernels(kernels []kernel) error {
	slices.SortFunc(kernels, byLabel)
	var kept []kernel
	for _, k := range kernels {
		at := slices.IndexFunc(kept, func(x kernel) bool { return x.Release == k.Release })
		switch {
		case at < 0:
			kept = append(kept, k)
		case kept[at].types != k.types:
			return fmt.Errorf("%s and %s have different BTF, but the same release %q; "+
				"pass only one of these files", kept[at].Label, k.Label, k.Release)
		}
	}
	if len(kept) == 0 {
		return errors.New("no kernel: pass the kernel's image (vmlinuz), or its BTF, as one more FILE")
	}
	for _, k := range kept {
		if k.Release == "" && len(kept) > 1 {
			return fmt.Errorf("%s: its release is unknown, so it can't be passed together with %s; "+
				"pass one kernel at a time",
				k.Label, kept[len(kept)-1].Label)
		}
		f.Kernels = append(f.Kernels, k.Kernel)
	}
	return nil
}

// kernelOf returns the kernel for a module: the only one, or the one whose release is in the
// module's vermagic, or else in its path (lib/modules/RELEASE). It returns nil if there is none.
// Rule: packages: which kernel a module is for.
func (f *Found) kernelOf(m *loader.Module) *loader.Kernel {
	if len(f.Kernels) == 1 {
		return f.Kernels[0]
	}
	for _, k := range f.Kernels {
		if k.Release == m.Release() {
			return k
		}
	}
	for _, k := range f.Kernels {
		if strings.Contains("/"+m.Path, "/lib/modules/"+k.Release+"/") {
			return k
		}
	}
	return nil
}
