package random

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/e2e/internal/content"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// checkGraph calls elfEqualsLink for the linked file, and for the output of ld -r.
func checkGraph(b *Build) error {
	b.OneShot()
	b.elfEqualsLink("linked", "default")
	const relocatable = "roads.o"
	b.relocatable(relocatable, b.Objects())
	b.elfEqualsLink(relocatable, "default")
	return nil
}

// checkFeatures calls elfEqualsLink with other features.
func checkFeatures(b *Build) error {
	b.elfEqualsLink("linked", b.Options.Features)
	return nil
}

// elfEqualsLink makes BTF with "btfgen elf" from a linked file, and with "btfdedup link" from the
// file's objects and facts. Both must give the same BTF and skip the same functions. It returns the
// name of the file with the BTF; NAME.skipped is the list of skipped functions.
func (b *Build) elfEqualsLink(linked, features string) string {
	name := linked + "." + features
	elf, graph, facts, flag := name+".btf", name+".link.btf", name+".facts", "--features="+features
	b.btfgen("elf", flag, "-o", elf, "--skipped", elf+".skipped", linked)
	b.btfgen("facts", flag, "-o", facts, linked)
	argv := []string{"link", "--facts", facts, "-o", graph, "--skipped", graph + ".skipped"}
	for _, o := range b.Objects() {
		argv = append(argv, b.featuresObject(o, features))
	}
	same := sameBytes
	if err := b.tryDedup(append(argv, "--strict")...); err != nil {
		if !unitsAbsent(err) {
			harness.Check(err)
		}
		b.btfdedup(argv...)
		if !b.Program.Exact {
			same = sameFunctions
		}
	}
	if b.losesScopes() {
		same = sameNames
	}
	what := " of " + linked + " with --features=" + features
	one, other := "btfgen elf"+what, "btfdedup link of the BTF objects"+what
	harness.Check(same(result{one, b.read(elf)}, result{other, b.read(graph)}))
	harness.Check(sameLines(result{one, b.read(elf + ".skipped")},
		result{other, b.read(graph + ".skipped")}))
	return elf
}

// unitsAbsent reports whether "link --strict" failed because the C linker has dropped a unit.
func unitsAbsent(err error) bool {
	var failed *commandError
	return errors.As(err, &failed) &&
		strings.Contains(failed.result.Stderr, " left out, as none of ")
}

func (b *Build) featuresObject(elf, features string) string {
	if features == "default" {
		return b.BTFObject(elf)
	}
	name := elf + "." + features + ".btfo"
	return b.once(name, func() { b.btfgen("object", "--features="+features, "-o", name, elf) })
}

func sameLines(a, b result) error {
	if string(a.bytes) == string(b.bytes) {
		return nil
	}
	only := func(r, other result) string {
		text := ""
		for line := range strings.Lines(string(r.bytes)) {
			if !strings.Contains("\n"+string(other.bytes), "\n"+line) {
				text += "\n  only by " + r.way + ": " + strings.TrimSpace(line)
			}
		}
		return text
	}
	return fmt.Errorf("%s and %s skip different functions%s%s", a.way, b.way, only(a, b), only(b, a))
}

// sameFunctions returns an error unless all results have the same functions and variables.
func sameFunctions(all ...result) error {
	return sameClasses([]content.Class{content.Func, content.Var, content.Section}, all...)
}
