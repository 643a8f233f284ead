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
)

// embedding says where a batch of modules with their BTF is written, and how.
type embedding struct {
	dir, into              string
	oldBase                string
	dropSignature, keepIDs bool
	fatal                  bool

	readOld resolveids.Base // reads oldBase once, for all modules
}

func (e *embedding) define(flags *cli.FlagSet) {
	flags.OutputDirVar(&e.dir, "embed", "write modules with their BTF to the directory `OUT`")
	flags.InputVar(&e.into, "into", "embed into copies of the modules below the directory `DIR`")
	flags.BoolVar(&e.dropSignature, "drop-signature", false,
		"remove the signatures of signed modules, which would become invalid")
	flags.BoolVar(&e.keepIDs, "keep-ids", false, "leave the ids in .BTF_ids as they are")
	flags.BoolVar(&e.fatal, "fatal-warnings", false, "warnings about ids are errors")
	flags.InputVar(&e.oldBase, "old-base",
		"the BTF `FILE` on which the old .BTF of resolved modules is based")
	e.readOld = sync.OnceValues(func() (*btf.Blob, error) { return btf.ReadOne(e.oldBase, nil) })
}

func (e *embedding) check() error {
	switch {
	case e.dir == "" && (e.into != "" || e.dropSignature || e.keepIDs || e.fatal || e.oldBase != ""):
		return cli.Usagef("--into, --drop-signature, --keep-ids, --fatal-warnings and --old-base go " +
			"with --embed")
	case e.keepIDs && e.oldBase != "":
		return cli.Usagef("--keep-ids and --old-base contradict each other")
	}
	return nil
}

// checkOutputs refuses to write a module in the place of one that is read, by whatever path.
func (e *embedding) checkOutputs(modules []module) error {
	if e.dir == "" {
		return nil
	}
	for i := range modules {
		m := &modules[i]
		out := filepath.Join(e.dir, m.rel)
		written, err := os.Stat(out)
		if err != nil {
			continue // it is not there
		}
		for _, in := range []string{m.path, m.into} {
			if read, err := os.Stat(in); err == nil && os.SameFile(written, read) {
				return cli.Usagef("output %s is also an input (%s); write to another directory", out, in)
			}
		}
	}
	return nil
}

// target is a module that gets BTF.
type target struct {
	file *elf.File
	edit *elfwrite.Edit
}

func (t *target) close() {
	if t != nil {
		t.file.Close()
	}
}

// prepare puts BTF that is based on what whole reads into a module, and returns that BTF too, which
// lacks the implicit arguments of the module's kfuncs.
func (e *embedding) prepare(env *cli.Env, m *module, data []byte,
	whole func() (*base.Files, error)) (*target, []byte, error) {
	types, err := embed.NewBlob(m.name+".btf", data)
	if err != nil {
		return nil, nil, err
	}
	opened, err := elf.Open(m.into)
	if err != nil {
		return nil, nil, err
	}
	t := &target{file: opened}
	f, err := embed.Unsigned(opened, e.dropSignature)
	if err != nil {
		return t, nil, err
	}
	below := func() (*btf.Blob, error) {
		bases, err := whole()
		if err != nil {
			return nil, err
		}
		if err := bases.NeedBTF("section " + btfids.SectionName); err != nil {
			return nil, fmt.Errorf("%s: %w (or leave the ids as they are: --keep-ids)", f.Path, err)
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
	t.edit, data, err = intoWithIDs(env, f, ids, types, nil, below, e.fatal)
	return t, data, err
}

// artifact returns what is written of a module with BTF in it: the file below the directory.
func (e *embedding) artifact(m *module, t *target) (cli.Artifact, error) {
	out := filepath.Join(e.dir, m.rel)
	if err := os.MkdirAll(filepath.Dir(out), 0o777); err != nil {
		return cli.Artifact{}, err
	}
	return cli.Artifact{Path: out, File: t.edit.Write}, nil
}

// ofVmlinux returns the BTF that vmlinux, the file at path, will have in a kernel that loads the
// modules: if these get ids of theirs, without the implicit arguments of its kfuncs.
func (e *embedding) ofVmlinux(env *cli.Env, path string, data []byte) ([]byte, error) {
	if e.dir == "" || e.keepIDs {
		return data, nil
	}
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if s := f.Section(btfids.SectionName); s == nil || s.Raw() == nil {
		return data, nil // without its content no kfunc is known, of which there was a warning
	}
	ids, err := resolveids.Find(f, func() (*btf.Blob, error) { return nil, nil })
	if err != nil {
		return nil, err
	}
	b, err := btf.Parse(data, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	data, _, err = ids.Explicit(data, b, path, env.Jobs)
	return data, err
}
