package encode

import (
	"fmt"
	"os"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/debugfile"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/splitdwarf"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/link/statics"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
)

// Facts returns what only the linked file f knows, its static variables of one name told apart.
// split is as in convert.Options.
func Facts(f *elf.File, options facts.Options, split *splitdwarf.Finder) (*facts.Facts, error) {
	known, err := facts.Extract(f, options)
	if err != nil {
		return nil, err
	}
	if known.KfuncState == facts.KfuncsStripped {
		return nil, fmt.Errorf("%s: a separate debug file: section .BTF_ids, which says which functions "+
			"are kfuncs, has no contents; give the stripped file, and this one with --dwarf (or leave "+
			"kfuncs out: --features=-%v)", f.Path, features.DeclTagKfuncs)
	}
	return known, statics.Identify(f, known, options.Features, split)
}

// Result is the BTF of a linked file.
type Result struct {
	*link.Result
	// Extra is split BTF on it with the variables that are not per CPU; nil unless they are wanted
	// apart.
	Extra *link.Result
}

// Change returns BTF in place of that which a link made, before anything is put on it.
type Change func(data []byte) ([]byte, error)

// File makes the BTF of the linked file at path, on so many threads. change and progress may be
// nil.
func (f *Flags) File(env *cli.Env, path string, bases *base.Files, jobs int, change Change,
	progress func(done, all int)) (*Result, error) {
	options := f.Options(env)
	options.Jobs, options.Progress = jobs, progress
	return f.file(env, path, bases, options, change)
}

// largeModule is the size, in bytes, of modules that are made one at a time: the relocated copy
// of such a file's DWARF is most of the memory that a run needs. A kernel has a handful of them.
const largeModule = 32 << 20

// Module is File for one of many modules, on one thread. What the modules have in common is read
// once. Several may be made at the same time.
func (f *Flags) Module(env *cli.Env, path string, bases *base.Files, change Change) (*Result,
	error) {
	options := f.Options(env)
	options.Jobs, options.Shared = 1, &f.shared
	if info, err := os.Stat(path); err == nil && info.Size() >= largeModule {
		f.large.Lock()
		defer f.large.Unlock()
	}
	return f.file(env, path, bases, options, change)
}

func (f *Flags) file(env *cli.Env, path string, bases *base.Files, options convert.Options,
	change Change) (*Result, error) {
	o, known, err := read(f.Search(env), path, bases, options)
	if err != nil {
		return nil, err
	}
	opt := link.Options{Facts: known, Base: bases.Base, BasePath: bases.Path,
		Features: options.Features, Variables: f.Variables.which(), Jobs: options.Jobs}
	result := &Result{}
	if result.Result, err = link.Link([]*object.Object{o}, opt); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := CheckTypes(path, result.BTF, bases.Base == nil, options.Counts, env.Warn); err != nil {
		return nil, err
	}
	if change != nil {
		if result.BTF, err = change(result.BTF); err != nil {
			return nil, err
		}
	}
	if f.Variables.Apart {
		if result.Extra, err = linkExtra(o, opt, bases, result.BTF); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return result, nil
}

// linkExtra links the variables that are not per CPU on the BTF of the others.
func linkExtra(o *object.Object, opt link.Options, bases *base.Files,
	below []byte) (*link.Result, error) {
	chain, err := bases.With(below)
	if err != nil {
		return nil, err
	}
	opt.Base, opt.BasePath, opt.Variables = chain.Base, "", link.Extra
	return link.Link([]*object.Object{o}, opt)
}

func read(files *debugfile.Search, path string, bases *base.Files, options convert.Options) (
	*object.Object, *facts.Facts, error) {
	f, err := files.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	f.Threads = options.Jobs
	known, err := Facts(f, facts.Options{Features: options.Features, Base: bases.BTF}, options.Split)
	if err != nil {
		return nil, nil, err
	}
	o, err := Object(f, options)
	return o, known, err
}
