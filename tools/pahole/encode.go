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
			KABIPrefix: c.prefix, Jobs: env.Jobs,
			Warn: func(line string) { env.Warn("%s", line) }}
		if err := c.encodeFile(env, path, bases, options); err != nil {
			return err
		}
	}
	return nil
}

// encodeFile makes the BTF of one file. If the file has no unit to encode, encodeFile writes
// nothing and returns no error, because builds have such files (main in pahole.c). It does the same
// if there is no type to encode, unless the BTF is split BTF (btf_encoder__encode).
func (c *command) encodeFile(env *cli.Env, path string, bases *base.Files,
	options convert.Options) error {
	if missing, err := withoutDWARF(path); err != nil || missing != nil {
		if err == nil {
			env.Warn("%v; no BTF is written", missing)
		}
		return err
	}
	talk := *env
	talk.Quiet = !c.verbose // a build shouldn't show a progress line, even on a terminal
	run := report.Start(&talk, []string{path})
	defer run.Close()
	files := &debugfile.Search{Tell: talk.Tell}
	result, err := pipeline.Linked(path, pipeline.How{Files: files, Bases: bases, Convert: options,
		Empty: true, Alone: true, Watch: run})
	if err != nil {
		return err
	}
	if result.Doubt != "" {
		env.Warn("%s: %s", path, result.Doubt)
	}
	if c.verbose {
		if err := writeSkipped(env.Stdout, result.Skipped); err != nil {
			return err
		}
	}
	switch {
	case result.Counts.Units == 0:
		env.Warn("%s: --lang_exclude excludes all compilation units; no BTF is written", path)
		return nil
	case bases.Last == nil && empty(result.BTF):
		env.Warn("%s: the DWARF has no types; no BTF is written", path)
		return nil
	case c.detached != "":
		return run.Finish(cli.Artifact{Path: c.detached, File: cli.Bytes(result.BTF)})
	}
	return c.embed(env, run, path, result.BTF, bases)
}

// withoutDWARF returns nil if the file at path has DWARF, and otherwise the reason why it has none.
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

func empty(data []byte) bool {
	h, _, err := btf.ReadHeader(data)
	return err == nil && h.TypeLen == 0
}

// embed puts BTF into the file at path, from which the BTF was made.
func (c *command) embed(env *cli.Env, run *report.Run, path string, data []byte,
	bases *base.Files) error {
	var onto *embed.Blob
	if bases.Last != nil && c.features.Has(features.DistilledBase) {
		whole, err := bases.Whole("distilled_base")
		if err != nil {
			return err
		}
		distilled, split, err := distill.Encode(data, whole.BTF)
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
		env.Warn("%s: the file's loaded .BTF has a different size, so it was not replaced; the new "+
			"BTF is in a second section .BTF, which is not loaded",
			path)
	}
	return run.Finish(cli.Artifact{Path: path, File: edit.Write, KeepMode: true})
}
