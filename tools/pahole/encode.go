package main

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/report"
	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/debugfile"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/kernel/distill"
	"github.com/rules-btf/rules_btf/internal/kernel/embed"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/language"
	"github.com/rules-btf/rules_btf/internal/pipeline"
)

// encode makes the BTF of each file.
func (c *command) encode(env *cli.Env) error {
	languages, err := language.Parse(c.exclude)
	if err != nil {
		return err
	}
	env.Verb, env.Jobs, env.Quiet, env.Verbose = "encode", c.jobs, c.quiet, c.verbose
	defer env.LimitThreads()()
	pipeline.RelaxHeap(c.files)
	bases, err := c.openBase()
	if err != nil {
		return err
	}
	defer bases.Close()
	for _, path := range c.files {
		options := convert.Options{Features: c.features.Set, LangExclude: languages,
			KABIPrefix: c.prefix, Jobs: env.Jobs, Counts: new(convert.Counts)}
		if err := c.encodeFile(env, path, bases, options); err != nil {
			return err
		}
	}
	return nil
}

// encodeFile makes the BTF of one file. Without a unit to encode nothing is written, and that is no
// error, since builds have such files (main in pahole.c): nor without a type, unless the BTF is
// split (btf_encoder__encode).
func (c *command) encodeFile(env *cli.Env, path string, bases *base.Files,
	options convert.Options) error {
	if missing, err := withoutDWARF(path); err != nil || missing != nil {
		if err == nil {
			env.Warn("%v; no BTF is written", missing)
		}
		return err
	}
	talk := *env
	talk.Quiet = !c.verbose // a build has a terminal, but no place for lines that are redrawn
	run := report.Start(&talk, []string{path})
	defer run.Close()
	files := &debugfile.Search{Dirs: []string{debugfile.DefaultDir}, Tell: talk.Tell}
	result, err := pipeline.Linked(path, pipeline.How{Files: files, Bases: bases, Convert: options,
		Empty: true, Watch: run})
	if err != nil {
		return err
	}
	if c.verbose {
		if err := writeSkipped(env.Stdout, result.Skipped); err != nil {
			return err
		}
	}
	switch {
	case options.Counts.Units == 0:
		env.Warn("%s: no compilation unit is left by --lang_exclude; no BTF is written", path)
		return nil
	case bases.BTF == nil && empty(result.BTF):
		env.Warn("%s: the DWARF has no types; no BTF is written", path)
		return nil
	case c.detached != "":
		return run.Finish(len(result.BTF),
			cli.Artifact{Path: c.detached, File: cli.Bytes(result.BTF)})
	}
	return c.embed(env, run, path, result.BTF, bases)
}

// withoutDWARF says why there is no DWARF in the file at path, nil if there is some.
func withoutDWARF(path string) (missing, err error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.HasDWARF() {
		return nil, nil
	}
	if missing = convert.CheckEmpty(f); missing == nil {
		missing = fmt.Errorf("%s: no DWARF (.debug_info)", path)
	}
	return missing, nil
}

// empty reports whether BTF has no types.
func empty(data []byte) bool {
	h, _, err := btf.ReadHeader(data)
	return err == nil && h.TypeLen == 0
}

// embed puts the BTF of the file at path into it.
func (c *command) embed(env *cli.Env, run *report.Run, path string, data []byte,
	bases *base.Files) error {
	var onto *embed.Blob
	if bases.BTF != nil && c.features.Has(features.DistilledBase) {
		if err := bases.NeedBTF("distilled_base"); err != nil {
			return err
		}
		distilled, split, err := distill.Encode(data, bases.BTF)
		if err != nil {
			return fmt.Errorf("%s: %w", c.base, err)
		}
		data = split
		if onto, err = embed.NewBlob(path, distilled); err != nil {
			return err
		}
	}
	types, err := embed.NewBlob(path, data)
	if err != nil {
		return err
	}
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	unsigned, err := embed.Unsigned(f, false)
	if err != nil {
		return err
	}
	edit, beside, err := embed.Over(unsigned, types, onto)
	if err != nil {
		return err
	}
	if beside {
		env.Warn("%s: what is loaded as BTF stays as it was linked; the section .BTF is beside it",
			path)
	}
	return run.Finish(len(data), cli.Artifact{Path: path, File: edit.Write, KeepMode: true})
}
