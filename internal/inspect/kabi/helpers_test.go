package kabi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/debugfile"
	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/pipeline"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// compile makes the BTF of a C file, with all its variables.
func compile(t testing.TB, src string) *btf.Blob {
	t.Helper()
	path := programtest.Compile(t, src, "gcc", "-g", "-O1", "-c")
	options := convert.Options{Features: features.Default() | features.GlobalVar}
	made, err := pipeline.Linked(path, pipeline.How{Files: &debugfile.Search{},
		Bases: &base.Files{}, Convert: options, Variables: link.All})
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	b, err := btf.Parse(made.BTF, nil)
	must.OK(t, err)
	return b
}

// symbols makes a list from names that are separated by spaces.
func symbols(t testing.TB, names string) []Symbol {
	t.Helper()
	list := must.Get(ReadSymbols([]byte(strings.ReplaceAll(names, " ", "\n"))))(t)
	return list
}

// describe writes a result with one difference or change per line.
func describe(list []diff.Difference) string {
	var lines []string
	word := map[bool]string{true: "breaks", false: "ok"}
	for _, d := range list {
		line := fmt.Sprintf("%s: %s", d.Type, word[!d.Compatible])
		if d.Allowed != "" {
			line += ", allowed: " + d.Allowed
		}
		if len(d.Changes) == 0 {
			line += ", " + string(d.Class)
		}
		if strings.Contains(d.Path, "→") {
			line += fmt.Sprintf(" (%d: %s)", d.Symbols, d.Path)
		}
		lines = append(lines, line)
		for _, c := range d.Changes {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("\t%s %s %s: %s", word[c.Breaks], c.Kind,
				c.Where, c.Reason)))
		}
	}
	return strings.Join(lines, "\n")
}
