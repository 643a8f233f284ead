package main

import (
	"bufio"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

func diffCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "diff A B",
		Short: "Compare the content of two BTF files, ignoring type ids and the order of types",
		Long: `
Compares named types, functions, variables, sections and tags by content, including all that they
refer to. If a name has several definitions, A and B must have the same set of definitions. Prints
one line per difference, sorted, and then a summary; with --limit the summary comes first:

    only in A: struct foo
    differs: struct foo: member bar.baz: type u32 vs u64
    forward: struct foo: member next: type struct bar (declared) * vs struct bar *

If a type differs only because a type that it refers to differs, it is counted, but not listed
unless --indirect is given. A and B are raw BTF, or ELF files with a .BTF section. For split BTF,
--base-a and --base-b name the bases. A type counts as present if a base of the other side has it,
unless --own-only is given. docs/command-line.md describes the output of --format=json.

Exit codes: 0 if equal; 1 if different (the differences are on stdout), or if a file can't be read
(nothing on stdout, one line on stderr); 2 for wrong usage.`,
		Example: `
btfdedup diff old/vmlinux.btf new/vmlinux.btf
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
	flags.BoolVar(&r.ownOnly, "own-only", false,
		"ignore the bases of the other side when looking for a type")
	flags.BoolVar(&r.indirect, "indirect", false,
		"also list types that differ only because a type to which they refer differs")
	flags.NumberVarP(&r.limit, "limit", "", 0, math.MaxInt, "differences",
		"print the summary, then at most `N` differences and how many more there are; 0 prints all")
	return flags.Command(r.run)
}

type diffRun struct {
	baseA, baseB      []string
	kinds             kindList
	format            string
	ownOnly, indirect bool
	limit             int // how many differences the text has at most; 0: all
}

func (r *diffRun) run(env *cli.Env, files []string) error {
	opts := diff.Options{OwnOnly: r.ownOnly, Indirect: r.indirect, Kinds: r.kinds}
	if len(env.Bases) > 0 {
		if len(r.baseA)+len(r.baseB) > 0 {
			return cli.Usagef("--base is for both sides; use either --base, or --base-a and --base-b")
		}
		r.baseA, r.baseB = env.Bases, env.Bases
	}
	a, err := readSide(env, r.baseA, files[0])
	if err != nil {
		return err
	}
	b, err := readSide(env, r.baseB, files[1])
	if err != nil {
		return err
	}
	found, summary := diff.Compare(a, b, opts)
	if err := r.print(env, found, summary); err != nil {
		return err
	}
	if !summary.Same() {
		return cli.ErrNo
	}
	return nil
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

func (r *diffRun) print(env *cli.Env, found []diff.Difference, summary diff.Summary) error {
	if r.format == "json" {
		if found == nil {
			found = []diff.Difference{}
		}
		return writeJSON(env.Stdout, diffReport{reportSchema, summary.Same(), found, summary})
	}
	out := bufio.NewWriter(env.Stdout)
	left := 0
	if r.limit > 0 {
		fmt.Fprintln(out, summary)
		left = max(0, len(found)-r.limit)
	}
	for _, d := range found[:len(found)-left] {
		fmt.Fprintln(out, d)
	}
	if r.limit == 0 {
		fmt.Fprintln(out, summary)
	}
	if left > 0 {
		fmt.Fprintf(out, "%s left out; --limit=0 prints all\n", message.Count(left, "more difference"))
	}
	return out.Flush()
}

// diffReport is what diff prints as JSON.
type diffReport struct {
	Schema      int               `json:"schema"`
	Equal       bool              `json:"equal"`
	Differences []diff.Difference `json:"differences"`
	Summary     diff.Summary      `json:"summary"`
}
