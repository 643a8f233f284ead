package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/kernel/btfids"
	"github.com/rules-btf/rules_btf/internal/kernel/embed"
	"github.com/rules-btf/rules_btf/internal/kernel/resolveids"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/pipeline"
)

// embedding holds the flags for embedding BTF into copies of modules.
type embedding struct {
	dir, into              string
	oldBase                string
	dropSignature, keepIDs bool
	fatal                  bool

	readOld resolveids.Base // reads oldBase once, for all modules
}

func (e *embedding) define(flags *cli.FlagSet) {
	flags.OutputDirVarP(&e.dir, "embed", "", "write modules with their BTF to the directory `DIR`")
	flags.InputVar(&e.into, "into", "copy the modules with the same names below `DIR` instead of the "+
		"inputs; they need no DWARF, and may be compressed")
	flags.BoolVar(&e.dropSignature, "drop-signature", false,
		"if modules are signed, remove their signatures, which would become invalid")
	flags.BoolVar(&e.keepIDs, "keep-ids", false, "leave the ids in .BTF_ids as they are")
	flags.BoolVar(&e.fatal, "fatal-warnings", false, "treat warnings about ids as errors")
	flags.InputVar(&e.oldBase, "old-base",
		"the BTF `FILE` on which the old .BTF of modules with resolved ids is based")
	e.readOld = sync.OnceValues(func() (*btf.Blob, error) { return btf.ReadOne(e.oldBase, nil) })
}

func (e *embedding) check() error {
	switch {
	case e.dir == "" && (e.into != "" || e.dropSignature || e.keepIDs || e.fatal || e.oldBase != ""):
		return cli.Usagef("--into, --drop-signature, --keep-ids, --fatal-warnings and --old-base " +
			"need --embed")
	case e.keepIDs && e.oldBase != "":
		return cli.Usagef("--keep-ids and --old-base can't be used together")
	}
	if e.oldBase != "" && emptyFile(e.oldBase) {
		e.oldBase = ""
	}
	return nil
}

// checkOutputs returns an error if an output would overwrite a module, even by another path.
func (e *embedding) checkOutputs(modules []module) error {
	if e.dir == "" {
		return nil
	}
	for i := range modules {
		m := &modules[i]
		out := filepath.Join(e.dir, m.rel)
		written, err := os.Stat(out)
		if err != nil {
			continue // it doesn't exist
		}
		for _, in := range []string{m.path, m.into} {
			if read, err := os.Stat(in); err == nil && os.SameFile(written, read) {
				return cli.Usagef("output %s is also an input (%s); write to another directory", out, in)
			}
		}
	}
	return nil
}

// target is a module into which BTF is embedded.
type target struct {
	file *elf.File
	edit *elfwrite.Edit
}

func (t *target) close() {
	if t != nil {
		t.file.Close()
	}
}

// prepare puts BTF into a module, and also returns the embedded BTF. If ids are resolved, kfuncs in
// that BTF have no implicit arguments. readBases reads the bases of the BTF.
func (e *embedding) prepare(env *cli.Env, m *module, data []byte,
	readBases func() (*base.Files, error)) (*target, []byte, error) {
	types, err := embed.NewBlob(m.name+".btf", data)
	if err != nil {
		return nil, nil, err
	}
	opened, err := openTarget(m.into)
	if err != nil {
		return nil, nil, err
	}
	t := &target{file: opened}
	if err := sameKernel(opened, m.path); err != nil {
		return t, nil, err
	}
	f, err := embed.Unsigned(opened, e.dropSignature)
	if err != nil {
		return t, nil, err
	}
	below := func() (*btf.Blob, error) {
		bases, err := readBases()
		if err != nil {
			return nil, err
		}
		if err := bases.NeedBTF("section " + btfids.SectionName); err != nil {
			return nil, fmt.Errorf("%s: %w (or use --keep-ids to leave the ids as they "+
				"are)", f.Path, err)
		}
		return bases.BTF, nil
	}
	var ids *resolveids.IDs
	if !e.keepIDs {
		old := e.readOld
		if e.oldBase == "" {
			old = below
		}
		if ids, err = resolveids.Find(f, old); err != nil {
			return t, nil, err
		}
	}
	var made embedded
	made, err = intoWithIDs(env, f, ids, payload{types: types}, below, e.fatal)
	t.edit = made.edit
	return t, made.data, err
}

// sameKernel returns an error if a module and the file with its DWARF were built for different
// machines or for kernels with different releases.
func sameKernel(f *elf.File, dwarf string) error {
	if f.Path == dwarf {
		return nil
	}
	other, err := elf.Open(dwarf)
	if err != nil {
		return err
	}
	defer other.Close()
	a, b := btf.OriginOf(f), btf.OriginOf(other)
	switch {
	case a.Machine != b.Machine || a.AddrSize != b.AddrSize:
		return fmt.Errorf("%s: it is for another machine than %s, which has the DWARF", f.Path, dwarf)
	case a.Release != "" && b.Release != "" && a.Release != b.Release:
		return fmt.Errorf("%s: it was built for the kernel %s, but %s, which has the DWARF, for %s",
			f.Path, a.Release, dwarf, b.Release)
	}
	return nil
}

// artifact returns the output for a module with BTF in it: a file below the directory of --embed.
// result has the BTF, and with --inline-dir the sites of inlined functions. Sites are embedded too.
func (e *embedding) artifact(m *module, t *target, result *pipeline.Result) (cli.Artifact, error) {
	if result.Inlined != nil && result.Inlined.Counts.Sites > 0 {
		sites, err := embed.NewBlob(m.name+".inline.btf", result.Inlined.BTF)
		if err == nil {
			_, err = embed.Inline(t.edit, t.file, sites)
		}
		if err != nil {
			return cli.Artifact{}, err
		}
	}
	out := filepath.Join(e.dir, m.rel)
	if err := os.MkdirAll(filepath.Dir(out), 0o777); err != nil {
		return cli.Artifact{}, err
	}
	return cli.Artifact{Path: out, File: t.edit.Write}, nil
}

// ofVmlinux returns the BTF of the kernel that will load the modules. The parameter path names that
// kernel's vmlinux, and data is the BTF made from vmlinux. If ids are resolved, the kfuncs in the
// returned BTF have no implicit arguments. If vmlinux already has BTF, the old BTF of its modules
// is based on that BTF. So that BTF becomes the old base, unless the user has named one.
// Rule: --old-base: its default in modules --vmlinux.
func (e *embedding) ofVmlinux(env *cli.Env, path string, data []byte) ([]byte, error) {
	if e.dir == "" || e.keepIDs {
		return data, nil
	}
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if s := f.Section(btf.SectionTypes); s != nil && s.Raw() != nil && e.oldBase == "" {
		e.oldBase = path
	}
	if s := f.Section(btfids.SectionName); s == nil || s.Raw() == nil {
		return data, nil // without .BTF_ids, kfuncs are unknown; a warning was printed
	}
	ids, err := resolveids.Find(f, func() (*btf.Blob, error) { return nil, nil })
	if err != nil {
		return nil, err
	}
	b, err := btf.Parse(data, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	explicit, err := ids.Explicit(resolveids.Types{Data: data, BTF: b}, path, env.Jobs)
	return explicit.Data, err
}
