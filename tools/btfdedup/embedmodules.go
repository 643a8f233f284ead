package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/btfids"
	"github.com/rules-btf/rules_btf/internal/cli"
	"github.com/rules-btf/rules_btf/internal/elf"
	"github.com/rules-btf/rules_btf/internal/elfwrite"
	"github.com/rules-btf/rules_btf/internal/embed"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/resolveids"
)

// embedding says where a batch of modules with their BTF is written, and how.
type embedding struct {
	dir, into              string
	oldBase                string
	dropSignature, keepIDs bool

	readOld resolveids.Base // reads oldBase once, for all modules
}

func (e *embedding) define(flags *cli.FlagSet) {
	flags.StringVar(&e.dir, "embed", "", "write modules with their BTF to the directory `OUT`")
	flags.StringVar(&e.into, "into", "", "embed into the modules below the directory `DIR`")
	flags.BoolVar(&e.dropSignature, "drop-signature", false,
		"cut off the signatures of signed modules, which would no longer hold")
	flags.BoolVar(&e.keepIDs, "keep-ids", false, "leave the ids in .BTF_ids as they are")
	flags.InputVar(&e.oldBase, "old-base",
		"what the .BTF sections of modules that were resolved before stand on: `FILE`")
	e.readOld = sync.OnceValues(func() (*btf.Blob, error) { return btf.ReadOne(e.oldBase, nil) })
}

func (e *embedding) check() error {
	switch {
	case e.dir == "" && (e.into != "" || e.dropSignature || e.keepIDs || e.oldBase != ""):
		return cli.Usagef("--into, --drop-signature, --keep-ids and --old-base go with --embed")
	case e.keepIDs && e.oldBase != "":
		return cli.Usagef("--keep-ids and --old-base contradict each other")
	}
	return nil
}

// embed writes a copy of a module with BTF in it, which stands on bases, and the other outputs.
func (e *embedding) embed(env *cli.Env, m *module, data []byte, bases *base.Files,
	others []cli.Artifact) error {
	types, err := embed.NewBlob(m.name+".btf", data)
	if err != nil {
		return err
	}
	f, err := elf.Open(m.into)
	if err != nil {
		return err
	}
	defer f.Close()
	if f, err = embed.Unsigned(f, e.dropSignature); err != nil {
		return err
	}
	edit, err := embed.Into(f, types, nil)
	if err != nil {
		return err
	}
	if !e.keepIDs {
		if err := e.ids(env, f, edit, types, bases); err != nil {
			return err
		}
	}
	out := filepath.Join(e.dir, m.rel)
	if err := os.MkdirAll(filepath.Dir(out), 0o777); err != nil {
		return err
	}
	return env.WriteOutputs(append(others, cli.Artifact{Path: out, File: edit.Write})...)
}

// ids fills in the .BTF_ids of a module.
func (e *embedding) ids(env *cli.Env, f *elf.File, edit *elfwrite.Edit, types *embed.Blob,
	bases *base.Files) error {
	baseBTF := func() (*btf.Blob, error) {
		if err := bases.NeedBTF("section " + btfids.SectionName); err != nil {
			return nil, fmt.Errorf("%s: %w (or leave the ids as they are: --keep-ids)", f.Path, err)
		}
		return bases.BTF, nil
	}
	old := e.readOld
	if e.oldBase == "" {
		old = baseBTF
	}
	ids, err := resolveids.Find(f, old)
	if ids == nil || err != nil {
		return err
	}
	below, err := baseBTF()
	if err != nil {
		return err
	}
	b, err := types.Parse(below)
	if err != nil {
		return err
	}
	return setIDs(env, ids, edit, b, types.Path)
}
