package main

import (
	"math"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/kernel/archive"
	"github.com/rules-btf/rules_btf/internal/kernel/shipped"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

func verifyCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "verify FILE...",
		Short: "Check BTF against the kernel's rules, or what is shipped before it boots",
		Long: `
If a FILE is a directory, a package, a kernel's image, a module or a compressed file, and neither
--base nor --for nor --sorted is given, the command prints what the kernel would do with each
module, one module per line, and then a summary:

    loads                 with its BTF, if it has any
    loads without BTF     the kernel drops its BTF
    loads with wrong BTF  the kernel doesn't notice that its BTF was made for another kernel
    refused               the kernel doesn't load it

The modules and their kernel may be in different FILEs: directories such as /lib/modules/7.2.12,
packages (.deb, .rpm, .tar, .tar.zst and so on), vmlinuz or vmlinux, the kernel's BTF, modules (.ko,
.ko.xz, .ko.zst, .ko.gz). If there are several kernels, each module is checked with the one whose
release it names. Signatures, symbols and their versions (modversions) aren't checked.

Otherwise, the command prints violations of the rules by which the Linux 7.2 kernel reads BTF, one
per line: type id, kind, name, rule, and what is wrong. It prints the first 100, unless --limit is
given. FILE is raw BTF or an ELF file with a .BTF section; if the section has several blobs, all of
them are checked. The sites of inlined functions in a section .BTF.inline are checked too. Enums
whose values were cut to 32 bits, because the encoder had no ENUM64, give a warning.

--for selects the reader whose rules apply:

    kernel  the kernel, when it reads the BTF of its own image or of a module: it checks the form
            of every type
    load    also BPF_BTF_LOAD, which resolves all references between types
    all     also older kernels and other readers

Exit codes: 0 for no violation, and if all modules load as they are; 1 for violations and other
modules (on stdout) or an unreadable file (on stderr); 2 for wrong usage.

With --manifest, FILE is the manifest.json of a directory that "btfdedup archive" wrote, or a tar
archive of such a directory (.tar, .tar.zst). The command prints what the kernel would refuse or
misread, one problem per line: files that are missing, damaged, or not based on the archive's BTF;
type ids that are out of range; module names that the kernel can't distinguish.
Without --for, the rules are those of --for=kernel.

--modules also checks the files *.ko below DIR, and DIR/vmlinux or the file of --vmlinux. Their BTF
must be the same as in the archive, and each id in .BTF_ids must belong to the type that the id's
symbol names.

docs/command-line.md describes the output of --format=json.`,
		Example: `
btfdedup verify vmlinux.btf
# a module's BTF is based on the kernel's
btfdedup verify --base vmlinux.btf module.btf
btfdedup verify --format=json --base vmlinux.btf module.btf
# before boot: would the kernel load the modules and their BTF?
btfdedup verify linux-binary-7.2.12.deb linux-modules-7.2.12.deb
btfdedup verify /sys/kernel/btf/vmlinux /lib/modules/7.2.12
# before boot: check that everything in the archive fits together
btfdedup verify --manifest btf/manifest.json
btfdedup verify --manifest btf.tar.zst --modules /lib/modules/7.2.12 --vmlinux vmlinux`,
	}, cli.Base)
	r := verifyRun{scope: "all", limit: 100}
	flags.ChoiceVar(&r.scope, "for", "the `reader` whose rules apply: kernel, load or all",
		"kernel", "load", "all")
	flags.BoolVar(&r.rules.Sorted, "sorted", false,
		"also require that types are sorted by name, as the search in Linux 7.0 and later expects")
	flags.FormatVar(&r.format)
	flags.NumberVarP(&r.limit, "limit", "", 0, math.MaxInt, "violations",
		"print at most `N` violations as text, and how many more there are; 0 prints all")
	flags.BoolVar(&r.manifest, "manifest", false,
		"FILE is the manifest of a BTF archive, or a BTF archive that is a tar file")
	flags.InputVar(&r.images.Modules, "modules",
		"with --manifest: also check .BTF and .BTF_ids of the modules below `DIR`")
	flags.InputVar(&r.images.Vmlinux, "vmlinux",
		"with --manifest: also check .BTF and .BTF_ids of vmlinux, the ELF `FILE`")
	flags.MaxDecompressedVar(&r.maxDecompressed)
	return flags.Command(func(env *cli.Env, files []string) error {
		return r.run(env, files, flags.Changed("for"))
	})
}

type verifyRun struct {
	rules         verify.Options
	scope, format string
	limit         int
	manifest      bool
	images        archive.Images

	maxDecompressed int // bytes, for packages and compressed files
}

// run checks the files. The parameter hasFor is true if --for was given.
func (r *verifyRun) run(env *cli.Env, files []string, hasFor bool) error {
	r.rules.Only = scopes[r.scope]
	if r.manifest {
		if !hasFor {
			r.rules.Only = scopes["kernel"]
		}
		return r.checkManifests(env, files, archive.Options{Rules: r.rules, Images: r.images})
	}
	if r.images != (archive.Images{}) {
		return cli.Usagef("--modules and --vmlinux need --manifest")
	}
	rules := hasFor || r.rules.Sorted || len(env.Bases) > 0
	if !rules && slices.ContainsFunc(files, shipped.Is) {
		return r.checkShipped(env, files)
	}
	return r.checkBTF(env, files)
}

// scopes are the values of --for.
var scopes = map[string]*verify.Scope{
	"kernel": new(verify.Boot),
	"load":   new(verify.Load),
	"all":    nil,
}

func (r *verifyRun) checkBTF(env *cli.Env, files []string) error {
	base, err := relocate.ReadBases(env.Bases)
	if err != nil {
		return err
	}
	report := newVerifyReport(files)
	for _, file := range files {
		if err := r.checkFile(env, file, base, report); err != nil {
			return r.stop(env, report, err)
		}
	}
	return r.answer(env, report)
}

func (r *verifyRun) checkFile(env *cli.Env, file string, base *btf.Blob,
	report *verifyReport) error {
	rules := r.rules
	f, err := elf.Open(file)
	if err == nil {
		defer f.Close()
		if rules.Module = f.IsModule(); f.ModuleInfo("name") == verify.VmlinuxModule {
			env.Warn("%s: its BTF is that of vmlinux (CONFIG_DEBUG_INFO_BTF=m)", file)
			base, rules.Module = nil, false
		}
	}
	blobs, err := relocate.ReadAnyBase(file, base)
	if err != nil {
		return err
	}
	for i, b := range blobs {
		warnOfPointers(env, file, b)
		if cut := b.CutEnums(); cut != "" {
			env.Warn("%s: %s", file, cut)
		}
		found := verify.Check(b, rules)
		report.add(file, i+1, len(blobs), found)
		switch other := relocate.Fits(file, b); {
		case other == nil:
			warnOfBase(env, file, b.Origin, b.Base)
		case len(found) == 0 && r.rules.Only == nil:
			return other
		default:
			env.Warn("%v", other)
		}
	}
	if f != nil {
		if err := verify.SitesIn(f, base); err != nil {
			report.Problems = append(report.Problems, problem{file, message.Printable(err.Error())})
		}
	}
	return nil
}

// stop ends the verb with an error. The violations that were found so far are printed as text, but
// an incomplete report is not printed as JSON.
func (r *verifyRun) stop(env *cli.Env, report *verifyReport, err error) error {
	if r.format == "text" {
		report.writeText(env.Stdout, r.limit)
	}
	return err
}

func (r *verifyRun) answer(env *cli.Env, report *verifyReport) error {
	if err := report.write(env.Stdout, r.format, r.limit); err != nil {
		return err
	}
	if report.found() > 0 {
		return cli.ErrNo
	}
	return nil
}

func (r *verifyRun) checkManifests(env *cli.Env, files []string, opts archive.Options) error {
	switch {
	case slices.Contains(files, cli.Stdin):
		return cli.Usagef("--manifest can't read standard input, because the archived files are next" +
			" to the manifest; specify its path")
	case len(env.Bases) > 0:
		return cli.Usagef("--manifest and --base can't be used together:" +
			" the manifest names the bases")
	case opts.Images != (archive.Images{}) && len(files) > 1:
		return cli.Usagef("--modules and --vmlinux need one archive, but %d are given", len(files))
	}
	opts.Jobs = env.Jobs
	report := newVerifyReport(files)
	for _, file := range files {
		found, err := archive.Check(file, opts)
		if err != nil {
			return r.stop(env, report, err)
		}
		for _, line := range found {
			report.Problems = append(report.Problems, problem{file, line})
		}
	}
	return r.answer(env, report)
}
