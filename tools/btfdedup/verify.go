package main

import (
	"bufio"
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/archive"
	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/cli"
	"github.com/rules-btf/rules_btf/internal/verify"
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

Exit codes: 0 no violation, 1 violations (on stdout) or an unreadable file (on stderr), 2 wrong
usage.

With --manifest, FILE is the manifest.json of a directory that btfdedup archive wrote, or a tar
archive of it (.tar, .tar.zst). Prints what the kernel would refuse, or read as other types than
were meant, one line for each problem: files that are missing or damaged, that were made on another
base than the one that is there, whose type ids are out of range, or whose names are one to the
kernel. The rules are those of --for=kernel unless --for is given. An archive with a shared base is
for tools, and a warning says so; with --for that is a problem.

--modules also checks the files *.ko below DIR, and DIR/vmlinux or the file of --vmlinux: that
their BTF is that of the archive, and that each id in .BTF_ids is that of the type which its symbol
names.`,
		Examples: []string{
			"btfdedup verify vmlinux.btf",
			"# a module's BTF stands on the kernel's",
			"btfdedup verify --base vmlinux.btf module.btf",
			"# before boot: does all that was archived fit together?",
			"btfdedup verify --manifest btf/manifest.json",
			"btfdedup verify --manifest btf.tar.zst --modules /lib/modules/7.2.12 --vmlinux vmlinux",
		},
		Flags: cli.Base,
		Setup: func(flags *cli.FlagSet) cli.Run {
			scope := "all"
			flags.ChoiceVar(&scope, "for", "the `reader` whose rules apply: kernel, load or all",
				"kernel", "load", "all")
			sorted := flags.Bool("sorted", false,
				"also want types sorted by name, as Linux 7.0 and later search them")
			manifest := flags.Bool("manifest", false,
				"FILE is the manifest of an archive of BTF, or a tar archive that has one")
			var images archive.Images
			flags.InputVar(&images.Modules, "modules",
				"with --manifest: also check .BTF and .BTF_ids of the modules below `DIR`")
			flags.InputVar(&images.Vmlinux, "vmlinux",
				"with --manifest: also check those of vmlinux, the ELF file `FILE`")
			return func(env *cli.Env, files []string) error {
				opts := verify.Options{Sorted: *sorted, Only: scopes[scope]}
				if *manifest {
					if slices.Contains(files, cli.Stdin) {
						return cli.Usagef("--manifest doesn't read standard input: what is archived is beside" +
							" the manifest; name the file")
					}
					if opts.Only == nil && !flags.Changed("for") {
						opts.Only = scopes["kernel"]
					}
					return verifyManifests(env, files, archive.Options{Rules: opts, Images: images,
						Kernel: flags.Changed("for"), Note: func(line string) { env.Warn("%s", line) }})
				}
				if images != (archive.Images{}) {
					return cli.Usagef("--modules and --vmlinux go with --manifest")
				}
				return runVerify(env, files, opts)
			}
		},
	}
}

// scopes are the values of --for.
var scopes = map[string]*verify.Scope{
	"kernel": new(verify.Boot),
	"load":   new(verify.Load),
	"all":    nil,
}

func runVerify(env *cli.Env, files []string, opts verify.Options) error {
	base, err := btf.ReadBases(env.Bases)
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

// verifyManifests checks archives of BTF.
func verifyManifests(env *cli.Env, files []string, opts archive.Options) error {
	if len(env.Bases) > 0 {
		return cli.Usagef("--manifest and --base contradict each other:" +
			" the manifest says what the bases are")
	}
	if opts.Images != (archive.Images{}) && len(files) > 1 {
		return cli.Usagef("--modules and --vmlinux go with one archive, not %d", len(files))
	}
	opts.Jobs = env.Jobs
	out := bufio.NewWriter(env.Stdout)
	total := 0
	for _, file := range files {
		found, err := archive.Check(file, opts)
		if err != nil {
			out.Flush()
			return err
		}
		for _, line := range found {
			if len(files) > 1 {
				line = file + ": " + line
			}
			fmt.Fprintln(out, line)
		}
		total += len(found)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if total > 0 {
		return cli.ErrNo
	}
	return nil
}
