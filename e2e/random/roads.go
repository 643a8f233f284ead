package random

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/e2e/internal/content"
)

// checkGraph: the graph over the objects gives what btfgen elf gives of the linked file, and of
// what ld -r makes of the objects.
func checkGraph(b *Build) error {
	if _, err := b.OneShot(); err != nil {
		return err
	}
	if _, err := b.sameRoads("linked", "default"); err != nil {
		return err
	}
	const relocatable = "roads.o"
	if err := b.relocatable(relocatable, b.Objects()); err != nil {
		return err
	}
	if _, err := b.sameRoads(relocatable, "default"); err != nil {
		return fmt.Errorf("ld -r: %w", err)
	}
	return nil
}

// checkFeatures: so it does with other features, and that is BTF by the kernel's rules.
func checkFeatures(b *Build) error {
	elf, err := b.sameRoads("linked", b.Options.Features)
	if err == nil {
		err = b.verify(elf)
	}
	if err != nil {
		return fmt.Errorf("--features=%s: %w", b.Options.Features, err)
	}
	return nil
}

// sameRoads checks that btfgen elf of a linked file, and btfgen object, btfgen facts and btfdedup
// link of its objects, give the same BTF and leave out the same functions. It returns the BTF's
// name; the list's is that with ".skipped".
func (b *Build) sameRoads(linked, features string) (string, error) {
	name := linked + "." + features
	elf, graph, facts, flag := name+".btf", name+".link.btf", name+".facts", "--features="+features
	if err := b.btfgen("elf", flag, "-o", elf, "--skipped", elf+".skipped", linked); err != nil {
		return "", err
	}
	if err := b.btfgen("facts", flag, "-o", facts, linked); err != nil {
		return "", err
	}
	argv := []string{"link", "--facts", facts, "-o", graph, "--skipped", graph + ".skipped"}
	for _, o := range b.Objects() {
		object, err := b.featuresObject(o, features)
		if err != nil {
			return "", err
		}
		argv = append(argv, object)
	}
	absent := false
	if err := b.btfdedup(append(argv, "--strict")...); err != nil {
		if absent = unitsAbsent(err); !absent {
			return "", err
		}
		if err := b.btfdedup(argv...); err != nil {
			return "", err
		}
	}
	one, err := b.results("btfgen elf", elf, elf+".skipped")
	if err != nil {
		return "", err
	}
	other, err := b.results("btfdedup link of the objects", graph, graph+".skipped")
	if err != nil {
		return "", err
	}
	same := sameBytes
	if loses, err := b.losesScopes(); err != nil {
		return "", err
	} else if loses {
		same = sameNames
	} else if absent {
		same = sameFunctions
	}
	if err := same(one[0], other[0]); err != nil {
		return "", err
	}
	return elf, sameLines(one[1], other[1])
}

// unitsAbsent says whether btfdedup link --strict failed for a unit of which nothing is in the
// linked file. The C linker has dropped its debugging information, too.
func unitsAbsent(err error) bool {
	var failed *commandError
	return errors.As(err, &failed) &&
		strings.Contains(failed.result.Stderr, "no function in the linked file")
}

// featuresObject is the BTF object of an object file with some features.
func (b *Build) featuresObject(elf, features string) (string, error) {
	if features == "default" {
		return b.BTFObject(elf)
	}
	name := elf + "." + features + ".btfo"
	return b.once(name, func() error {
		return b.btfgen("object", "--features="+features, "-o", name, elf)
	})
}

// results reads files that one way gave.
func (b *Build) results(way string, names ...string) ([]result, error) {
	var all []result
	for _, name := range names {
		data, err := b.read(name)
		if err != nil {
			return nil, err
		}
		all = append(all, result{way, data})
	}
	return all, nil
}

// sameLines returns an error with the lines that differ, nil if two lists are the same.
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
	return fmt.Errorf("%s and %s leave out other functions%s%s", a.way, b.way, only(a, b), only(b, a))
}

// sameFunctions is an error unless all results have the same functions and variables.
func sameFunctions(all ...result) error {
	return sameClasses([]content.Class{content.Func, content.Var, content.Section}, all...)
}
