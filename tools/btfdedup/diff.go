package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/inspect/diff/render"
	"github.com/rules-btf/rules_btf/internal/inspect/dump"
	"github.com/rules-btf/rules_btf/internal/inspect/kabi"
	"github.com/rules-btf/rules_btf/internal/kernel/archive"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
)

func diffCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "diff A B",
		Short: "Compare the content of two BTF files, or of two kernels with their modules",
		Long: `
Compares named types, functions, variables, sections and tags by content, including all that they
refer to. Type ids and the order of types don't matter. If a name has several definitions, A and B
must have the same set of definitions.

Prints how many types of each kind differ, and then the differences, the most important ones first:
those that break code that was compiled for A, by the number of types that differ only because of
them. Below each difference is the definition as pahole prints it, with - and + before the lines
that only A or B has; on a terminal with at least 120 columns, A and B are next to each other.
Runs of members that have all moved by the same distance are one line. The types that differ only
because of another type are listed below that type if --indirect is given.

A and B are raw BTF, or ELF files with a .BTF section. For split BTF, --base-a and --base-b name the
bases. A type counts as present if a base of the other side has it.

A and B can also be directories or archives with the BTF of a kernel and its modules, as "btfdedup
modules" and "btfdedup archive" write them. Then modules are compared by name, and each module that
differs is one line. docs/diff.md has examples, and describes the output of --format=json.

With --symbols, the kABI is compared: only these exported symbols, and the types that they reach.
The report says which changes break modules that were compiled for A, and shows a path from a symbol
to each type. A can also be a reference that "btfdedup dump --format=kabi" has written; without
--symbols, its symbols are compared. docs/diff.md has the rules.

Exit codes: 0 if equal or, for the kABI, if all changes are compatible or allowed; 1 if different
(the differences are on stdout), or if a file can't be read (nothing on stdout, one line on stderr);
2 for wrong usage.`,
		Example: `
btfdedup diff old/vmlinux.btf new/vmlinux.btf
# what has changed in two structs
btfdedup diff --name task_struct --name sock old.btf new.btf
# with what differs only because of that
btfdedup diff --indirect old.btf new.btf
# kernels with their modules
btfdedup diff 7.1.tar.zst 7.2.tar.zst
# the kABI
btfdedup diff --symbols Module.symvers old.btf new.btf
# one module from two builds
btfdedup diff --base-a old/vmlinux.btf --base-b new/vmlinux.btf old/ext4.btf new/ext4.btf
btfdedup diff --kinds=struct,union --format=json a.btf b.btf`,
	}, cli.Base)
	var r diffRun
	flags.InputsVar(&r.baseA, "base-a",
		"the BTF `FILE` on which A is based; repeat the flag for a chain; --base is for both sides")
	flags.InputsVar(&r.baseB, "base-b", "the BTF `FILE` on which B is based, like --base-a for A")
	flags.Var(&r.kinds, "kinds", "compare only these `kinds`, such as struct,union,func")
	flags.FormatVar(&r.format)
	flags.StringArrayVar(&r.names, "name", nil,
		"compare only types with the name `N`, or with a kind and name, such as \"struct sock\"; "+
			"repeat the flag for several names")
	flags.BoolVar(&r.indirect, "indirect", false,
		"also list types that differ only because a type to which they refer differs")
	flags.NumberVarP(&r.limit, "limit", "", 0, math.MaxInt, "differences",
		"print the summary, then at most `N` differences and how many more there are; 0 prints all")
	r.kabi.define(flags)
	return flags.Command(r.run)
}

type diffRun struct {
	kabi         kabiFlags
	baseA, baseB []string
	kinds        kindList
	names        []string
	format       string
	indirect     bool
	limit        int // how many differences of the kernel the text has at most; 0: all
}

func (r *diffRun) run(env *cli.Env, files []string) error {
	opts := diff.Options{Indirect: r.indirect, Kinds: r.kinds}
	if len(env.Bases) > 0 {
		if len(r.baseA)+len(r.baseB) > 0 {
			return cli.Usagef("--base is for both sides; use either --base, or --base-a and --base-b")
		}
		r.baseA, r.baseB = env.Bases, env.Bases
	}
	for _, name := range r.names {
		opts.Names = append(opts.Names, dump.ParseName(name))
	}
	result, report, err := r.compareAny(env, files, opts)
	if err != nil {
		return err
	}
	if r.format == "json" {
		err = writeJSON(env.Stdout, diffReport{diffSchema, result.Same(), report, result})
	} else {
		err = render.Text(env.Stdout, result, render.Options{Limit: r.limit, KABI: inText(report)})
	}
	no := !result.Same()
	if report != nil {
		no = report.Incompatible > 0
	}
	if err == nil && no {
		return cli.ErrNo
	}
	return err
}

// compare compares two files or, if both paths are directories or archives, two kernels with their
// modules.
func (r *diffRun) compare(
	env *cli.Env, files []string, opts diff.Options,
) (diff.Result, error) {
	var sets [2]diff.Set
	for i, file := range files {
		var err error
		if sets[i].Kernel, sets[i].Modules, err = archive.ReadSet(file); err != nil {
			return diff.Result{}, err
		}
		warnOfNoModules(env, file, sets[i])
	}
	if a, b := sets[0].Kernel != nil, sets[1].Kernel != nil; a != b {
		if a {
			files = []string{files[1], files[0]}
		}
		return diff.Result{}, fmt.Errorf("%s is a file, but %s has the BTF of a kernel and its modules; "+
			"compare two files, or two directories or archives", files[0], files[1])
	} else if a {
		if len(r.baseA)+len(r.baseB) > 0 {
			return diff.Result{}, cli.Usagef("%s and %s have their own bases; leave out --base, "+
				"--base-a and --base-b", files[0], files[1])
		}
		if err := r.checkNames(files, opts, sets[0].Blobs(), sets[1].Blobs()); err != nil {
			return diff.Result{}, err
		}
		return diff.CompareSets(sets[0], sets[1], opts), nil
	}
	a, err := readSide(env, r.baseA, files[0])
	if err != nil {
		return diff.Result{}, err
	}
	b, err := readSide(env, r.baseB, files[1])
	if err != nil {
		return diff.Result{}, err
	}
	if err := r.checkNames(files, opts, a, b); err != nil {
		return diff.Result{}, err
	}
	found, summary := diff.Compare(a, b, opts)
	return diff.Result{Differences: found, Summary: summary}, nil
}

// checkNames returns an error if no type has one of the names of --name, or if the names on one of
// the sides are too long together.
func (r *diffRun) checkNames(files []string, opts diff.Options, sides ...diff.Side) error {
	checked := map[*btf.Blob]bool{}
	for i, side := range sides {
		for _, b := range side {
			for ; b != nil && !checked[b]; b = b.Base {
				checked[b] = true
				if err := b.CheckNames(); err != nil {
					return fmt.Errorf("%s: %w", files[i], err)
				}
			}
		}
	}
	for i, name := range opts.Names {
		has := func(b *btf.Blob) bool { return has(b, name, opts.Kinds) }
		if !slices.ContainsFunc(slices.Concat(sides...), has) {
			of := ""
			if opts.Kinds != nil {
				of = " and one of the kinds in --kinds"
			}
			return fmt.Errorf("neither %s nor %s has a type with the name %q%s", files[0], files[1],
				r.names[i], of)
		}
	}
	return nil
}

// has reports whether a blob or its bases have a type with a name and, unless kinds is nil, of one
// of the kinds.
func has(b *btf.Blob, name dump.Name, kinds []btf.Kind) bool {
	for _, t := range b.All() {
		if (kinds == nil || slices.Contains(kinds, t.Kind)) && name.Is(t, b.TypeName(t)) {
			return true
		}
	}
	return false
}

// kindList is a flag whose value is a list of kinds of types, separated by commas.
type kindList []btf.Kind

func (l *kindList) Set(s string) error {
	for name := range strings.SplitSeq(s, ",") {
		k, ok := btf.ParseKind(name)
		if !ok {
			return fmt.Errorf("unknown kind %q; the kinds are %s", name, strings.Join(kindNames(), ", "))
		}
		*l = append(*l, k)
	}
	return nil
}

func (l *kindList) String() string { return "" } // no default

func (*kindList) Type() string { return "kinds" }

func kindNames() []string {
	var all []string
	for k := btf.KindInt; k < btf.NumKinds; k++ {
		all = append(all, strings.ToLower(k.String()))
	}
	return all
}

func readSide(env *cli.Env, bases []string, path string) (diff.Side, error) {
	base, err := relocate.ReadBases(bases)
	if err != nil {
		return nil, err
	}
	blobs, err := relocate.ReadFile(path, base)
	if err != nil {
		return nil, err
	}
	for _, b := range blobs {
		warnOfBase(env, path, b.Origin, b.Base)
	}
	return blobs, nil
}

// diffSchema is the version of what diff prints with --format=json, like reportSchema. docs/diff.md
// describes the fields.
const diffSchema = 2

// diffReport is what diff prints as JSON.
type diffReport struct {
	Schema int          `json:"schema"`
	Equal  bool         `json:"equal"`
	KABI   *kabi.Report `json:"kabi,omitempty"`
	diff.Result
}
