package verify

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// These modules carry BTF that isn't their own. The kernel knows them by their names.
const (
	// VmlinuxModule has the BTF of vmlinux in its section .BTF (CONFIG_DEBUG_INFO_BTF=m, proposed for
	// scripts/gen-btf.sh in September 2026). Its own types have no BTF.
	// Rule: modules that carry the BTF of vmlinux. Source: kernel scripts/gen-btf.sh.
	VmlinuxModule = "btf_vmlinux"
	// SitesModule has the sites of vmlinux in its section .BTF.inline (DEBUG_INFO_BTF_INLINE=m,
	// scripts/gen-btf.sh of Linux 7.4).
	// Rule: modules that carry the sites of vmlinux. Source: kernel scripts/gen-btf.sh.
	SitesModule = "btf_vmlinux_inline"
)

// Rejected returns why BTF can't be used: it was made for a different base, or it violates a rule
// of the kernel.
func Rejected(b *btf.Blob, opts Options) error {
	if err := b.CheckRefs(); err != nil {
		return err
	}
	switch found := Check(b, opts); len(found) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("the kernel rejects %v", found[0])
	default:
		return fmt.Errorf("the kernel rejects %v (and %d more)", found[0], len(found)-1)
	}
}

// OfSites returns opts with the rules for the sites of inlined functions: each site must have a
// function, and the location of each of its parameters. So sites on the BTF of another file violate
// these rules.
func OfSites(opts Options) Options {
	if opts.Only != nil && *opts.Only < Load {
		opts.Only = new(Load)
	}
	return opts
}

// Sites parses and checks the BTF of inlined functions, as in a section .BTF.inline. Its base is
// the BTF of the file that has the sites.
// Rule: verify: sites must be based on the BTF of their file.
func Sites(raw []byte, base *btf.Blob) (*btf.Blob, error) {
	b, err := btf.Parse(raw, base)
	if err == nil {
		err = Rejected(b, OfSites(Options{Only: new(Boot)}))
	}
	if err != nil {
		return nil, fmt.Errorf("sites of inlined functions: %w", err)
	}
	return b, nil
}

// SitesIn is Sites for the section .BTF.inline of an ELF file, if it has one. The file's BTF is
// based on its section .BTF.base or, without that section, on base.
func SitesIn(f *elf.File, base *btf.Blob) error {
	raw, err := btf.Section(f, btf.SectionInline)
	if err != nil || len(raw) == 0 {
		return err
	}
	on := base
	if f.ModuleInfo("name") != SitesModule {
		distilled, err := btf.Section(f, btf.SectionBase)
		if err == nil && distilled != nil {
			on, err = btf.Parse(distilled, nil)
		}
		if err != nil {
			return err
		}
		types, err := btf.Section(f, btf.SectionTypes)
		if err == nil {
			on, err = btf.Parse(types, on)
		}
		if err != nil {
			return err
		}
	}
	if _, err := Sites(raw, on); err != nil {
		return fmt.Errorf("section %s: %w", btf.SectionInline, err)
	}
	return nil
}
