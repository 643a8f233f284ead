package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/command/batch"
	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/report"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
)

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// runMany embeds the BTF in the directory of --btf in many modules, and in their kernel.
func (r *embedRun) runMany(env *cli.Env, args []string) error {
	files, err := batch.Find(env, args, batch.Options{Order: r.order})
	if err != nil {
		return err
	}
	defer files.Close()
	if err := r.checkDirs(env, &files); err != nil {
		return err
	}
	run := report.Start(env, files.Paths())
	defer run.Close()
	tally := batch.Start(env, run, files.Modules)
	phase := run.Phase("embed", "modules")
	if files.Kernel != nil {
		if err := r.embedKernel(env, &files, run); err != nil {
			return tally.Explain(err)
		}
		tally.Kernel = true
	}
	if kernel := filepath.Join(r.types, "vmlinux.btf"); len(env.Bases) == 0 && exists(kernel) {
		env.Bases = []string{kernel}
	}
	var size atomic.Int64
	return tally.Each(phase.Progress, func(m *batch.File) error {
		j := r.job(env, m)
		err := r.embed(env, j, writeBelow(run))
		m.Doubt = j.doubt
		size.Add(int64(len(j.data)))
		return err
	}, func() {
		phase.EndMade(&report.Made{BTF: report.Part{Files: tally.Complete(), Bytes: size.Load()}})
	})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// job returns what to do for a module or a kernel.
func (r *embedRun) job(env *cli.Env, m *batch.File) *job {
	in := func(dir, suffix string) string {
		if dir == "" {
			return ""
		}
		return filepath.Join(dir, m.Name+suffix)
	}
	return &job{in: m.Path, out: filepath.Join(env.Output, m.Rel),
		types: in(r.types, ".btf"), typesOut: in(r.typesOut, ".btf"),
		inline: in(r.inline, ".inline.btf"), inlineOut: in(r.inlineOut, ".inline.btf")}
}

// writeBelow returns a function that writes the outputs for a module, and makes their directories.
func writeBelow(run *report.Run) func(...cli.Artifact) error {
	return func(outputs ...cli.Artifact) error {
		for _, o := range outputs {
			if err := os.MkdirAll(filepath.Dir(o.Path), 0o777); err != nil {
				return fmt.Errorf("output: %w", err)
			}
		}
		return run.WriteOutputs(outputs...)
	}
}

// checkDirs returns an error if an output would overwrite an input, even by another path, or if the
// bases are ambiguous.
func (r *embedRun) checkDirs(env *cli.Env, files *batch.Files) error {
	if files.Kernel != nil && len(env.Bases) > 0 {
		return cli.Usagef("%s: it is linked, so it is a kernel, whose BTF is the base of the modules: "+
			"leave out the file or --base", files.Kernel.Path)
	}
	same := func(out, in string) error {
		written, err := os.Stat(out)
		if err != nil {
			return nil // it doesn't exist
		}
		if read, err := os.Stat(in); err == nil && os.SameFile(written, read) {
			return cli.Usagef("output %s is also an input (%s); write to another directory", out, in)
		}
		return nil
	}
	all := files.Modules
	if files.Kernel != nil {
		all = append(all[:len(all):len(all)], *files.Kernel)
	}
	for i := range all {
		j := r.job(env, &all[i])
		for _, pair := range [][2]string{{j.out, j.in}, {j.typesOut, j.types}, {j.inlineOut, j.inline}} {
			if err := same(pair[0], pair[1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// embedKernel embeds the BTF of the kernel. The BTF of modules must be based on the embedded BTF.
// If the kernel already has BTF, the old BTF of its modules is based on that BTF. So that BTF
// becomes the old base, unless the user has named one.
func (r *embedRun) embedKernel(env *cli.Env, files *batch.Files, run *report.Run) error {
	f, err := elf.Open(files.Kernel.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	j, kernel := r.job(env, files.Kernel), *r
	kernel.readOld = func() (*btf.Blob, error) { return nil, nil }
	kernel.readBases = kernel.readOld
	err = kernel.embed(env, j, func(outputs ...cli.Artifact) error {
		given, err := os.ReadFile(j.types)
		if err == nil && len(files.Modules) > 0 && !bytes.Equal(given, j.data) {
			err = fmt.Errorf("%s: the BTF in the copy of %s differs from this BTF, because it is padded or "+
				"has no implicit arguments of kfuncs: embed it alone, with --btf-out, and make the BTF of "+
				"modules with that file as --base", j.types, j.in)
		}
		if err != nil {
			return err
		}
		return writeBelow(run)(outputs...)
	})
	if s := f.Section(btf.SectionTypes); s != nil && s.Raw() != nil && r.oldBase == "" {
		r.oldBase = files.Kernel.Path
	}
	return err
}
