package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

func needsCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "needs FILE...",
		Short: "Extract what BPF programs need from a kernel",
		Long: `
Writes what the programs in the object files need from a kernel: their CO-RE relocations, with the
local types to which the relocations refer; the conditions under which a program reaches each
relocation, such as a test with bpf_core_field_exists; and the functions, kfuncs, variables and
types that the programs name.

The output contains no code, paths or offsets. If an edit doesn't change what the programs need, the
output stays the same, so whatever was made from it stays up to date. The order of the FILEs doesn't
matter. "bpftool gen min_core_btf" reads the output as it reads an object file, unless the programs
have no relocations.

If libbpf refuses a relocation for every kernel, for example because its struct has no name, the
output says so, and "btfcore check" reports the program as failing.

A FILE is an object file, compiled with BTF by clang or gcc, or linked by "bpftool gen object". With
--format=text or json, which print the needs, FILE may also be an earlier output of this command.`,
		Example: `
btfcore needs -o agent.needs *.bpf.o
btfcore needs --format=text agent.needs`,
	}, cli.Printed)
	format := "needs"
	flags.ChoiceVar(&format, "format", "the output `FORMAT`: \"needs\" (for other commands), or "+
		"\"text\" or \"json\" (to look at the needs)", "needs", "text", "json")
	return flags.Command(func(env *cli.Env, args []string) error {
		if format == "needs" && env.Output == "-" && isTerminal(env.Stdout) {
			return cli.Usagef("-o is missing; to print the needs, use --format=text")
		}
		n, err := readNeeds(args, format != "needs")
		if err != nil {
			return err
		}
		return env.WriteOutput(env.Output, func(w io.Writer) error {
			switch format {
			case "text":
				return n.WriteText(w)
			case "json":
				return message.WriteJSON(w, n.JSON())
			}
			data, err := needs.Write(n)
			if err != nil {
				return err
			}
			return cli.Bytes(data)(w)
		})
	})
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// readNeeds returns the needs of object files. If fromNeeds is set, a single path may also name a
// file with needs.
func readNeeds(paths []string, fromNeeds bool) (*needs.Needs, error) {
	if fromNeeds && len(paths) == 1 {
		data, err := os.ReadFile(paths[0])
		if err != nil {
			return nil, err
		}
		if f, err := elf.NewFile(bytes.NewReader(data)); err == nil && needs.Is(f) {
			return needs.ReadFile(paths[0])
		}
	}
	var objects []*bpfobj.Object
	for _, path := range paths {
		o, err := bpfobj.ReadFile(path)
		if err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return needs.Extract(objects...)
}

// readAllNeeds reads files with needs, which must have the same byte order.
func readAllNeeds(paths []string) ([]*needs.Needs, error) {
	var list []*needs.Needs
	for _, path := range paths {
		n, err := needs.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if len(list) > 0 && n.Order != list[0].Order {
			return nil, errors.New(path + ": its byte order differs from that of " + paths[0] +
				"; use these files one by one")
		}
		list = append(list, n)
	}
	return list, nil
}
