package oracle

import (
	"debug/elf"
	"fmt"
	"regexp"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/content"
)

var funcTags = regexp.MustCompile(`^func \S+ \S+ (\{[^}]*\})`)

// SameKfuncs compares the tags of kfuncs in our BTF with those in the .BTF of the file elfPath. The
// kernel's own build made that .BTF before resolve_btfids sorted the sets of kfuncs, so each kfunc
// has its own flags there. In BTF that pahole makes from a finished vmlinux, kfuncs have the flags
// of other kfuncs.
func SameKfuncs(tb testing.TB, ours Blob, elfPath string) {
	tb.Helper()
	f, err := elf.Open(elfPath)
	if err != nil {
		tb.Fatal(err)
	}
	section := f.Section(".BTF")
	f.Close()
	if section == nil {
		tb.Skipf("SKIPPED: %s has no .BTF", elfPath)
	}
	a, err := content.Load(ours.Path, ours.Bases...)
	if err != nil {
		tb.Fatal(err)
	}
	b, err := content.Load(elfPath)
	if err != nil {
		tb.Fatal(err)
	}
	mine, theirs := kfuncTags(a), kfuncTags(b)
	for name, tags := range theirs {
		if mine[name] != tags {
			tb.Errorf("%s: tags %q, want %q", name, mine[name], tags)
		}
	}
	for name, tags := range mine {
		if theirs[name] == "" {
			tb.Errorf("%s: tags %q, want none", name, tags)
		}
	}
	fmt.Printf("%d kfuncs, tagged as in the kernel's own .BTF\n", len(theirs))
}

// kfuncTags returns the declaration tags of each function, by its name, as the texts show them.
func kfuncTags(c *content.Contents) map[string]string {
	out := map[string]string{}
	for name, texts := range c.Definitions[content.Func] {
		for _, text := range texts {
			if m := funcTags.FindStringSubmatch(text); m != nil {
				out[name] = m[1]
			}
		}
	}
	return out
}
