package oracle

import (
	"debug/elf"
	"fmt"
	"regexp"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/content"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

var funcTags = regexp.MustCompile(`^func \S+ \S+ (\{[^}]*\})`)

// SameKfuncs compares the tags of kfuncs in our BTF with those in the section .BTF of the file
// elfPath. The kernel's build made that section before resolve_btfids sorted the sets of kfuncs, so
// the flags of each kfunc are right there. If pahole reads a finished vmlinux, in which the sets
// are sorted, it gives kfuncs the flags of other kfuncs.
func SameKfuncs(tb testing.TB, ours Blob, elfPath string) {
	tb.Helper()
	f := must.Get(elf.Open(elfPath))(tb)
	section := f.Section(".BTF")
	f.Close()
	if section == nil {
		tb.Skipf("SKIPPED: %s has no .BTF", elfPath)
	}
	a := must.Get(content.Load(ours.Path, ours.Bases...))(tb)
	b := must.Get(content.Load(elfPath))(tb)
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

// kfuncTags maps the name of each function with declaration tags to the text of these tags.
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
