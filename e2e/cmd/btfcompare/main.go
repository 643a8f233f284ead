// Command btfcompare compares our BTF with an oracle's, made from the same ELF file, and explains
// the differences.
//
//	btfcompare [--base OURS:ORACLE]... [--skipped FILE] [--examples N] OURS ORACLE
//
// It prints a table of counts and a list by class and reason. Exit code 1 means that something is
// not explained.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rules-btf/rules_btf/e2e/internal/compare"
	"github.com/rules-btf/rules_btf/e2e/internal/content"
)

func main() {
	skipped := pflag.String("skipped", "", "the --skipped `FILE` that btfgen wrote beside OURS")
	bases := pflag.StringArray("base", nil, "`OURS:ORACLE`, the bases of the two sides; may repeat")
	examples := pflag.Int("examples", 10,
		"examples to print of each kind of difference; -1 prints all")
	pflag.Parse()
	if pflag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: btfcompare [--base OURS:ORACLE]... [--skipped FILE] OURS ORACLE")
		os.Exit(2)
	}
	ok, err := run(pflag.Arg(0), pflag.Arg(1), *bases, *skipped, *examples)
	if err != nil {
		fmt.Fprintln(os.Stderr, "btfcompare:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func run(ours, oracle string, bases []string, skipped string, examples int) (bool, error) {
	var ourBases, oracleBases []string
	for _, b := range bases {
		x, y, ok := strings.Cut(b, ":")
		if !ok {
			return false, fmt.Errorf("--base %s: want OURS:ORACLE", b)
		}
		ourBases, oracleBases = append(ourBases, x), append(oracleBases, y)
	}
	a, err := content.Load(ours, ourBases...)
	if err != nil {
		return false, err
	}
	b, err := content.Load(oracle, oracleBases...)
	if err != nil {
		return false, err
	}
	skips := compare.Skips{}
	if skipped != "" {
		if skips, err = compare.LoadSkips(skipped); err != nil {
			return false, err
		}
	}
	r := compare.Contents(a, b)
	r.Explain(compare.Against(a, skips))
	r.Print(os.Stdout, examples)
	return len(r.Unexplained()) == 0, nil
}
