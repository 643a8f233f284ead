package main

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/kernel/embed"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/link/locsec"
)

// inlineBTF is the BTF of --inline, and then the BTF in the section .BTF.inline.
type inlineBTF struct {
	*embed.Blob           // nil without the flag
	sites       *btf.Blob // the parsed blob
	foreign     bool      // it isn't based on the BTF of the file, but on the base of that BTF
}

// readInline reads the BTF of --inline, and checks that it belongs to types.
func (r *embedRun) readInline(j *job, f *elf.File, types *embed.Blob) (x inlineBTF, err error) {
	if j.inline == "" {
		return x, nil
	}
	if x.Blob, err = embed.ReadInline(j.inline, f, types); err != nil {
		return x, err
	}
	on, foreign, err := r.baseOfSites(f, types)
	if err == nil {
		x.foreign = foreign
		x.sites, err = verify.Sites(x.Data, on)
	}
	if err != nil {
		return x, fmt.Errorf("%s: %w", j.inline, err)
	}
	return x, nil
}

// baseOfSites returns the BTF on which the BTF of --inline must be based. That is types or, for the
// module btf_vmlinux_inline, its base; the result foreign is then true.
func (r *embedRun) baseOfSites(f *elf.File, types *embed.Blob) (on *btf.Blob, foreign bool,
	err error) {
	if alone, err := types.Parse(nil); err == nil {
		return alone, false, nil
	}
	if r.base != "" {
		base, err := embed.ReadBlob(r.base)
		if err == nil {
			on, err = base.Parse(nil)
		}
		if err != nil {
			return nil, false, err
		}
	} else if on, err = r.readBases(); err != nil {
		return nil, false, err
	}
	if on == nil {
		return nil, false, cli.Usagef("--inline needs --base, the BTF on which %s is based, to check "+
			"that the sites belong to it", types.Path)
	}
	if f.ModuleInfo("name") == verify.SitesModule {
		return on, true, nil
	}
	on, err = readOn(types, on)
	return on, false, err
}

// onTypes returns the sites that are based on the BTF of --btf, or nil.
func (x *inlineBTF) onTypes() *btf.Blob {
	if x.foreign {
		return nil
	}
	return x.sites
}

// add puts the sites into the file in made. If the BTF there isn't that of --btf, the sites change:
// made has them on the BTF without implicit arguments, and add moves them to the padded BTF.
func (x *inlineBTF) add(f *elf.File, made *embedded) (err error) {
	if x.Blob == nil {
		return embed.CheckNoInline(f, made.data)
	}
	if moved := made.sites; moved != nil {
		on, err := btf.Parse(made.data, moved.Base.Base)
		if err != nil {
			return err
		}
		if on.EndStr() != moved.Base.EndStr() {
			moved = locsec.Move(moved, on, func(id uint32) uint32 { return id })
		}
		if moved != x.sites {
			if x.Data, err = btf.Encode(moved, x.sites.Header.Form()); err != nil {
				return fmt.Errorf("%s: %w", x.Path, err)
			}
		}
	}
	if len(x.sites.Sites) == 0 {
		return embed.CheckNoInline(f, made.data)
	}
	x.Data, err = embed.Inline(made.edit, f, x.Blob)
	return err
}
