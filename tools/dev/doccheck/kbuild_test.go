package doccheck

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestKbuildBTF compares the lists of attributes in the macro kbuild_btf with the tables of
// attributes in docs/rules.md, because the macro passes each attribute to the rules that have it.
func TestKbuildBTF(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		text := must.Get(os.ReadFile(filepath.Join(root, name)))(t)
		return string(text)
	}
	find := func(pattern, text, each string) (names []string) {
		t.Helper()
		part := regexp.MustCompile(pattern).FindString(text)
		for _, m := range regexp.MustCompile(each).FindAllStringSubmatch(part, -1) {
			names = append(names, m[1])
		}
		if len(names) == 0 {
			t.Errorf("nothing matches %s", pattern)
		}
		return names
	}
	docs, macro := read("docs/rules.md"), read("kbuild/defs.bzl")
	rule := func(name string) []string {
		return find(`(?s)\n### `+name+`\n.*?\n##`, docs, "(?m)^\\| `(\\w+)` ")
	}
	list := func(name string) []string {
		return find(`(?s)\n_`+name+` = \[.*?\]`, macro, `"(\w+)"`)
	}
	vmlinux, modules := rule("vmlinux_btf"), rule("modules_btf")
	// The macro sets these attributes.
	set := []string{"base", "modules", "name", "order", "srcs", "vmlinux"}
	var want [3][]string
	for _, name := range slices.Concat(vmlinux, modules) {
		switch ofVmlinux := slices.Contains(vmlinux, name); {
		case slices.Contains(set, name):
		case !ofVmlinux:
			want[1] = append(want[1], name)
		case slices.Contains(modules, name):
			want[2] = append(want[2], name)
		default:
			want[0] = append(want[0], name)
		}
	}
	for i, name := range []string{"ONLY_VMLINUX", "ONLY_MODULES", "ONLY_BTF"} {
		slices.Sort(want[i])
		if got, want := list(name), slices.Compact(want[i]); !slices.Equal(got, want) {
			t.Errorf("_%s in kbuild/defs.bzl is %q, want %q", name, got, want)
		}
	}
}
