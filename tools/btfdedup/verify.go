package main

import (
	"bufio"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/cli"
	"github.com/rules-btf/rules_btf/internal/verify"
	"github.com/spf13/pflag"
)

func verifyVerb() cli.Verb {
	return cli.Verb{
		Name:    "verify",
		Summary: "check BTF against the kernel's rules",
		Args:    "FILE...",
		Long: `
Prints every violation of the rules by which the Linux 7.2 kernel reads BTF, one a line:
type id, kind, name, rule, and what is wrong. FILE is raw BTF or an ELF file with a .BTF
section; a linked file that holds several blobs has all of them checked.

--for says who is to read the BTF:
  kernel  the kernel, from its own image or a module: the form of every type
  load    also BPF_BTF_LOAD, which resolves all references between types
  all     also older kernels and other readers

Exit codes: 0 no violation, 1 violations (on stdout) or an unreadable file (on stderr), 2 wrong usage.`,
		Examples: []string{
			"btfdedup verify vmlinux.btf",
			"# a module's BTF stands on the kernel's",
			"btfdedup verify --base vmlinux.btf module.btf",
		},
		Setup: func(fs *pflag.FlagSet) cli.Run {
			bases := fs.StringArray("base", nil,
				"a base of split BTF `FILE`s; repeat for a chain, the deepest first")
			scope := fs.String("for", "all", "the `reader` whose rules apply: kernel, load or all")
			sorted := fs.Bool("sorted", false,
				"also want types sorted by name, as Linux 7.0 and later search them")
			return func(env *cli.Env, args []string) error {
				opts := verify.Options{Sorted: *sorted}
				switch *scope {
				case "kernel":
					opts.Only = new(verify.Scope)
					*opts.Only = verify.Boot
				case "load":
					opts.Only = new(verify.Scope)
					*opts.Only = verify.Load
				case "all":
				default:
					return cli.Usagef("verify: --for=%s is none of kernel, load and all", *scope)
				}
				if len(args) == 0 {
					return cli.Usagef("verify: no file is given (see btfdedup verify --help)")
				}
				return runVerify(env, *bases, args, opts)
			}
		},
	}
}

func runVerify(env *cli.Env, bases, files []string, opts verify.Options) error {
	base, err := btf.ReadBases(bases)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(env.Stdout)
	total := 0
	for _, file := range files {
		blobs, err := btf.ReadFile(file, base)
		if err != nil {
			out.Flush()
			return err
		}
		for i, b := range blobs {
			where := ""
			if len(files) > 1 {
				where = file + ": "
			}
			if len(blobs) > 1 {
				where += fmt.Sprintf("blob %d: ", i+1)
			}
			found := verify.Check(b, opts)
			for _, v := range found {
				fmt.Fprintf(out, "%s%v\n", where, v)
			}
			total += len(found)
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if total > 0 {
		return cli.ErrNo
	}
	return nil
}
