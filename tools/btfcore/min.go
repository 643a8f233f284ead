package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/report"
	"github.com/rules-btf/rules_btf/internal/kernel/archive"
	"github.com/rules-btf/rules_btf/internal/programs/minimal"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
	"github.com/rules-btf/rules_btf/internal/support/message"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

func minCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "min KERNEL...",
		Short: "Make minimal BTF: only the part of a kernel's BTF that certain programs need",
		Long: `
Writes only those types and members of a kernel's BTF that the given programs need. Each CO-RE
relocation has the same result as with the whole BTF, except for the ids of the kernel's types
(bpf_core_type_id_kernel), which become ids in the output. A program that ships the output also runs
on kernels that were built without BTF (libbpf: btf_custom_path, cilium/ebpf: KernelTypes).

-o FILE is for one kernel. -d DIR is for any number of kernels: DIR/NAME.btf is the result for the
kernel called NAME. If FILE ends with .tar, .tar.gz, .tar.xz or .tar.zst, it becomes an archive of
these files, like the one that "tar -C DIR ." creates, but sorted, and with no timestamps or owners.
Kernels that can't be read are reported at the end; the BTF of the others is still written.

With --module, a type may also come from a module, if vmlinux has no type of that name. For each
module with types that are needed, DIR/MODULE.btf is split BTF based on DIR/vmlinux.btf. With
--flat, one file has the types of vmlinux and of the modules, because libbpf takes only one file.
` + aboutKernels,
		Example: `
btfcore min --needs agent.needs -o min.btf /sys/kernel/btf/vmlinux
btfcore min --needs agent.needs -d min btfhub-archive
btfcore min --needs agent.needs -o min_core_btfs.tar.gz btfhub-archive`,
	}, cli.Report)
	r := minRun{options: minimal.Options{Hooks: true}}
	flags.InputsVar(&r.needs, "needs", "a `FILE` with the needs of programs, from \"btfcore needs\"; "+
		"repeat the flag for several files")
	flags.MarkRequired("needs")
	flags.OutputVarP(&r.file, "output", "o", "write the BTF of one kernel to `FILE`, or the BTF of "+
		"all kernels to a tar archive")
	flags.OutputDirVarP(&r.dir, "dir", "d", "write the BTF of all kernels below `DIR`")
	flags.InputsVar(&r.modules, "module", "the `[NAME=]FILE` of a module, or a directory with "+
		"modules; "+
		"repeat the flag for several")
	flags.BoolVar(&r.options.Flat, "flat", false, "put the types of modules into the BTF of vmlinux")
	flags.BoolVar(&r.options.Hooks, "hooks", true, "keep the functions, kfuncs, variables and types "+
		"that programs name, not only what relocations need")
	flags.MaxDecompressedVar(&r.maxDecompressed)
	return flags.Command(r.run)
}

// minRun holds the flags of one run of "min".
type minRun struct {
	needs           []string
	file, dir       string
	tar             string // the ending of a tar archive's name; "" if file names no archive
	modules         []string
	options         minimal.Options
	maxDecompressed int
}

func (r *minRun) run(env *cli.Env, args []string) error {
	if (r.file == "") == (r.dir == "") {
		return cli.Usagef("pass either -o (one kernel, or a tar archive) or -d (several kernels)")
	}
	r.tar = archive.TarEnding(r.file)
	single := r.file != "" && r.tar == ""
	list, err := readAllNeeds(r.needs)
	if err != nil {
		return err
	}
	files, err := findKernels(args)
	if err != nil {
		return err
	}
	if (single || len(r.modules) > 0) && len(files) != 1 {
		return cli.Usagef("-o and --module are for one kernel, not %d; use -d or -o FILE.tar for several",
			len(files))
	}
	if len(r.modules) > 0 && !r.options.Flat && single {
		return cli.Usagef("--module requires -d for the BTF of each module, or --flat")
	}
	run := report.Start(env, args)
	defer run.Close()
	if single || len(r.modules) > 0 {
		return r.writeOne(run, files[0], list)
	}
	return r.writeMany(env, run, files, list)
}

// writeOne writes the minimal BTF of one kernel and its modules.
func (r *minRun) writeOne(run *report.Run, file kernelFile, list []*needs.Needs) error {
	found, err := file.read(list[0], r.maxDecompressed)
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return fmt.Errorf("%s: it has %d kernels; use -d or -o FILE.tar", file.path, len(found))
	}
	k := &found[0]
	if err := k.addModules(r.modules, r.maxDecompressed); err != nil {
		return err
	}
	result, err := minimal.Build(k.Kernel, list, r.options)
	if err != nil {
		return fmt.Errorf("%s: %w", file.path, err)
	}
	if r.file != "" && r.tar == "" {
		return run.Finish(cli.Artifact{Path: r.file, File: cli.Bytes(result.Vmlinux)})
	}
	outputs := map[string][]byte{"vmlinux": result.Vmlinux}
	maps.Copy(outputs, result.Modules)
	return r.finish(run, outputs)
}

// writeMany writes the minimal BTF of all kernels that can be read.
func (r *minRun) writeMany(env *cli.Env, run *report.Run, files []kernelFile,
	list []*needs.Needs) error {
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = f.path
	}
	results := make([]map[string][]byte, len(files))
	phase := run.Phase("kernels", "kernels")
	errs := parallel.Each(env.Jobs, paths, func(i int) (err error) {
		results[i], err = r.build(files[i], list)
		return err
	}, phase.Progress)
	outputs := map[string][]byte{}
	made := &report.Made{}
	for i, result := range results {
		for _, name := range slices.Sorted(maps.Keys(result)) {
			if _, twice := outputs[name]; twice && errs[i] == nil {
				errs[i] = fmt.Errorf("%s: another kernel has the same name, %s; pass NAME=FILE",
					files[i].path, name)
			}
		}
		if errs[i] != nil {
			continue
		}
		for name, data := range result {
			outputs[name] = data
			made.BTF.Files++
			made.BTF.Bytes += int64(len(data))
		}
	}
	phase.EndMade(made)
	done, failures := printErrors(env, errs)
	if !done {
		return failures
	}
	if failures == nil {
		run.Made("minimal BTF of " + message.Count(len(files), "file") + " in " + r.file + r.dir)
	}
	if err := r.finish(run, outputs); err != nil {
		return err
	}
	return failures
}

// build returns the minimal BTF of the kernels in a file, by name.
func (r *minRun) build(file kernelFile, list []*needs.Needs) (map[string][]byte, error) {
	kernels, err := file.read(list[0], r.maxDecompressed)
	if err != nil {
		return nil, err
	}
	results := map[string][]byte{}
	for _, k := range kernels {
		result, err := minimal.Build(k.Kernel, list, r.options)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.path, err)
		}
		results[k.name] = result.Vmlinux
	}
	return results, nil
}

// finish writes the directory or archive. The keys of outputs are the names of the BTF files,
// without the ending .btf.
// Rule: minimal BTF: names of the files in an archive. Source: libbpf-tools btf_helpers.c
// ensure_core_btf.
func (r *minRun) finish(run *report.Run, outputs map[string][]byte) error {
	var entries []archive.Entry
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		entries = append(entries, archive.Entry{Name: name + ".btf", Data: outputs[name]})
	}
	if r.tar == "" {
		return run.Finish(cli.Artifact{Path: r.dir, Dir: func(dir string) error {
			return writeDir(dir, entries)
		}})
	}
	for i := range entries {
		// "tar -C DIR ." writes such names, and libbpf-tools look for them: see ensure_core_btf.
		entries[i].Name = "./" + entries[i].Name
	}
	return run.Finish(cli.Artifact{Path: r.file, File: func(w io.Writer) error {
		return archive.WriteTar(w, r.tar, entries)
	}})
}

func writeDir(dir string, entries []archive.Entry) error {
	for _, e := range entries {
		path := filepath.Join(dir, e.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, e.Data, 0o666); err != nil {
			return err
		}
	}
	return nil
}
