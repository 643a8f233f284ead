package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/inspect/cheader"
	"github.com/rules-btf/rules_btf/internal/inspect/dump"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
)

func dumpCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "dump FILE",
		Short: "Print BTF: type by type, as a C header, or as a reference for the kABI",
		Long: `
Prints the types of FILE: raw BTF, such as /sys/kernel/btf/vmlinux, or an ELF file with a section
.BTF. docs/inside.md describes the output and how it differs from bpftool's.

    raw  one record after the other, with its id, like "bpftool btf dump file FILE format raw";
         for split BTF, without the types of the bases
    c    a C header, such as vmlinux.h for BPF programs; it compiles to the layout that the BTF
         describes, and differs from bpftool's header only where bpftool's doesn't compile; for
         split BTF, with the types of the bases
    kabi the functions and variables in the list of --symbols, and the types that they reach, as a
         text that can be checked in: a reference for "btfdedup diff"; FILE can also be a directory
         or archive with a kernel and its modules

--inline prints the sites at which functions were inlined, one in each line, with the caller and
where the parameters are. Callers and registers have names if --elf gives the file in whose code the
sites are. With --format=json, each line is a JSON object.

Split BTF, such as the BTF of a module, needs --base. The BTF of a module with a section .BTF.base
is printed as it is, based on that section. With --base, it is first relocated, as in the kernel.`,
		Example: `
btfdedup dump vmlinux.btf
btfdedup dump --format=c -o vmlinux.h vmlinux
# one struct, with the types that it needs
btfdedup dump --format=c --name task_struct vmlinux.btf
# a module's own types
btfdedup dump --base vmlinux.btf ext4.ko
# where fdget was inlined, and where its parameters are
btfdedup dump --inline --name fdget --elf vmlinux --base vmlinux.btf vmlinux.inline.btf
# a reference for the kABI
btfdedup dump --format=kabi --symbols kabi_list -o abi.kabi vmlinux.btf`,
	}, cli.Printed|cli.Base)
	var r dumpRun
	r.format = "raw"
	flags.ChoiceVar(&r.format, "format", "the output `format`: raw, c for a C header, kabi, or json "+
		"with --inline", "raw", "c", "kabi", "json")
	flags.StringArrayVar(&r.names, "name", nil,
		"print only types with the name `N`, or with a kind and name, such as \"struct sock\", "+
			"also if they are in bases; repeat the flag for several names; --format=c also prints "+
			"the types that the named types need; with --inline, N is a function")
	flags.BoolVar(&r.inline, "inline", false, "print the sites at which functions were inlined")
	flags.InputVar(&r.elf, "elf", "with --inline: the vmlinux or module `FILE` with the sites")
	r.kabi.define(flags)
	return flags.Command(r.run)
}

type dumpRun struct {
	kabi   kabiFlags
	format string
	names  []string
	inline bool
	elf    string
}

func (r *dumpRun) run(env *cli.Env, args []string) error {
	switch {
	case r.elf != "" && !r.inline:
		return cli.Usagef("--elf needs --inline")
	case r.inline && r.format != "raw" && r.format != "json":
		return cli.Usagef("--inline and --format=%s can't be used together", r.format)
	case r.format == "json" && !r.inline:
		return cli.Usagef("--format=json needs --inline")
	}
	if isKABI := r.format == "kabi"; isKABI {
		switch {
		case r.kabi.symbols == "":
			return cli.Usagef("--format=kabi needs --symbols: a list of the exported symbols")
		case r.names != nil:
			return cli.Usagef("--name has no effect with --format=kabi; list symbols with --symbols")
		}
		return writeKABI(env, &r.kabi, args[0])
	} else if r.kabi.symbols != "" || r.kabi.allow.Given() {
		return cli.Usagef("--symbols, --allow and --allow-file need --format=kabi")
	}
	b, err := readBlob(env, args[0])
	if err != nil {
		return err
	}
	if r.inline {
		return r.writeSites(env, args[0], b)
	}
	if r.format == "c" {
		warnOfPointers(env, args[0], b)
	}
	var ids []uint32
	if len(r.names) > 0 {
		if ids, err = dump.Named(b, r.names); err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
	}
	return env.WriteOutput(env.Output, func(w io.Writer) error {
		switch {
		case r.format == "c":
			if err := cheader.Write(w, b, ids); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return nil
		case ids != nil:
			return dump.Some(w, b, ids)
		}
		return dump.Raw(w, b)
	})
}

// writeSites prints the sites of inlined functions in the file path, which holds b.
func (r *dumpRun) writeSites(env *cli.Env, path string, b *btf.Blob) error {
	if !slices.ContainsFunc(b.Types, func(t btf.Type) bool { return t.Kind == btf.KindLocsec }) {
		return fmt.Errorf("%s: no sites of inlined functions; btfgen inline makes BTF that has them",
			path)
	}
	if b.Base != nil {
		if err := verify.Rejected(b, verify.OfSites(verify.Options{Only: new(verify.Boot)})); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	var f *elf.File
	if r.elf != "" {
		var err error
		if f, err = elf.Open(r.elf); err != nil {
			return err
		}
		defer f.Close()
		if err := r.checkELF(env, path, b, f); err != nil {
			return fmt.Errorf("%s: it isn't the file with the sites in %s: %w", r.elf, path, err)
		}
	}
	names, err := dump.NamesOf(f)
	if err != nil {
		return err
	}
	return env.WriteOutput(env.Output, func(w io.Writer) error {
		if err := dump.WriteSites(w, b, r.names, names, r.format == "json"); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	})
}

// checkELF checks that f, the file of --elf, can be the one with the sites in the file path, which
// holds b.
func (r *dumpRun) checkELF(env *cli.Env, path string, b *btf.Blob, f *elf.File) error {
	for _, with := range append([]string{path}, env.Bases...) {
		other, _, err := btf.Open(with)
		if err != nil {
			return err
		}
		if other == nil {
			continue
		}
		// The file with the sites may be given twice. Only a kernel can be given as a base.
		same := with == path || len(env.Bases) == 1 && !other.IsModule() && !f.IsModule()
		id, own := bytes.Clone(other.BuildID()), f.BuildID()
		other.Close()
		if same && id != nil && own != nil && !bytes.Equal(id, own) {
			return fmt.Errorf("its build id is %x, but that of %s is %x", own, with, id)
		}
	}
	return dump.CheckCode(b, f)
}

// readBlob reads a file with one BTF blob, which is based on the bases of the command line.
func readBlob(env *cli.Env, path string) (*btf.Blob, error) {
	base, err := relocate.ReadBases(env.Bases)
	if err != nil {
		return nil, err
	}
	b, err := relocate.ReadOne(path, base)
	if err == nil {
		warnOfBase(env, path, b.Origin, b.Base)
	}
	return b, err
}

// warnOfPointers warns if the size of a pointer is a guess that changes the result.
func warnOfPointers(env *cli.Env, path string, b *btf.Blob) {
	if b.GuessesPointers() {
		env.Warn("%s: raw BTF without a type long doesn't state the size of a pointer; it is taken to "+
			"be %d bytes, because larger pointers don't fit in their structs or variables", path,
			b.PointerSize())
	}
}

// warnOfBase warns if base may be the wrong one for the file at path.
func warnOfBase(env *cli.Env, path string, file btf.Origin, base *btf.Blob) {
	if why := relocate.Doubt(file, base); why != "" {
		env.Warn("%s: %s", path, why)
	}
}
