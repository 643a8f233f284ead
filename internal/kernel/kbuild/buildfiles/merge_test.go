package buildfiles

import (
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/kernel/kbuild"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// fsPackage returns the package of the directory fs. The objects are those of vmlinux in fs.
func fsPackage(t testing.TB, objects ...string) *Package {
	t.Helper()
	tree := &kbuild.Tree{Vmlinux: &kbuild.Linked{Path: "vmlinux", Objects: objects}}
	due := must.Get(Packages(tree, Options{Rules: DefaultRules}))(t)
	return due["fs"]
}

func merge(t testing.TB, old string, p *Package) string {
	t.Helper()
	var content []byte
	if old != "" {
		content = []byte(old)
	}
	text := must.Get(Merge("fs/BUILD.bazel", content, p))(t)
	return string(text)
}

// TestMerge updates files that people have edited.
func TestMerge(t *testing.T) {
	const load = "load(\"@rules_btf//rules:defs.bzl\", \"btf_objects\")\n\n" +
		"package(default_visibility = [\"//visibility:private\"])\n\n"
	for _, test := range []struct {
		name, old string
		want, not []string
	}{
		{"a new object", merge(t, "", fsPackage(t, "fs/open.o")), []string{`"exec.o", "open.o"`}, nil},
		{"an object that is gone", merge(t, "", fsPackage(t, "fs/open.o", "fs/exec.o", "fs/x.o")),
			[]string{`srcs = ["exec.o", "open.o"]`}, []string{"x.o"}},
		{"an item that is kept", load + `btf_objects(
    name = "vmlinux_objects",
    srcs = [
        "open.o",
        "own.o",  # keep
        "other.o",
    ],
)`, []string{`"open.o"`, `"own.o",  # keep`, `"exec.o"`}, []string{"other.o"}},
		{"an item that is kept, and generated too", load + `btf_objects(
    name = "vmlinux_objects",
    srcs = [
        "open.o",  # keep
    ],
)`, []string{`srcs = ["exec.o", "open.o",  # keep`}, nil},
		{"an attribute that is kept", load + `btf_objects(
    name = "vmlinux_objects",
    srcs = glob(["*.o"]),  # keep
)`, []string{`srcs = glob(["*.o"])`}, []string{"exec.o"}},
		{"a rule that is kept", load + `# keep: ours
btf_objects(
    name = "vmlinux_objects",
    srcs = ["x.o"],
)`, []string{`srcs = ["x.o"]`}, []string{"exec.o"}},
		{"the owner's attributes", load + `btf_objects(
    name = "vmlinux_objects",
    srcs = ["x.o"],
    grain = "8",
    lang_exclude = ["rust"],
)`, []string{`grain = "8"`, "exec.o"}, []string{"x.o", "rust"}},
		{"a rule that is no longer needed", load + `btf_objects(
    name = "fat_objects",
    srcs = ["x.o"],
    tags = ["kbuild"],
)`, nil, []string{"fat_objects"}},
		{"such a rule that is kept", load + `btf_objects(
    name = "fat_objects",
    srcs = ["x.o"],
    tags = ["kbuild"],
)  # keep`, []string{"fat_objects"}, nil},
		{"the owner's rules", load + `cc_library(name = "c")
btf_objects(
    name = "own",
    srcs = ["x.o"],
)`, []string{`cc_library(name = "c")`, `name = "own"`}, nil},
		{"load statements", "load(\"@rules_btf//rules:defs.bzl\", \"btf_embed\", \"module_btf\")\n",
			[]string{`load("@rules_btf//rules:defs.bzl", "btf_embed", "btf_objects")`,
				"package(default_visibility"}, nil},
		{"visibility", load, []string{"//visibility:private"}, []string{"//visibility:public"}},
		{"exports", load + `exports_files(["x.ko", "a.txt"])`, []string{`exports_files(["a.txt"])`},
			[]string{"x.ko"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			due := fsPackage(t, "fs/open.o", "fs/exec.o")
			text := merge(t, test.old, due)
			contains(t, text, test.want...)
			for _, not := range test.not {
				if strings.Contains(text, not) {
					t.Errorf("%s in\n%s", not, text)
				}
			}
			if again := merge(t, text, fsPackage(t, "fs/open.o", "fs/exec.o")); again != text {
				t.Errorf("a second time:\n%s\nafter\n%s", again, text)
			}
		})
	}
	if _, err := Merge("fs/BUILD.bazel", []byte("btf_objects("), fsPackage(t, "fs/a.o")); err == nil ||
		!strings.Contains(err.Error(), "fs/BUILD.bazel") {
		t.Errorf("a file that is no BUILD file: error %v", err)
	}
}

// TestNotDue updates files in directories that no longer need rules.
func TestNotDue(t *testing.T) {
	text := merge(t, "", fsPackage(t, "fs/open.o"))
	if left := merge(t, text, nil); left != "" {
		t.Errorf("left:\n%s", left)
	}
	if left := merge(t, text+"\ncc_library(name = \"c\")\n", nil); !strings.Contains(left, "cc_lib") ||
		strings.Contains(left, "btf_objects") {
		t.Errorf("left:\n%s", left)
	}
	owners := "package(default_visibility = [\"//visibility:private\"])\n"
	if left := merge(t, owners, nil); left != owners {
		t.Errorf("the owner's file has become:\n%s", left)
	}
}

// FuzzMerge merges a package into any file, twice. The second merge must change nothing.
func FuzzMerge(f *testing.F) {
	f.Add(merge(f, "", fsPackage(f, "fs/open.o")))
	f.Add("btf_objects(name = \"vmlinux_objects\", srcs = [\"a.o\"]) # keep\nexports_files([\"x\"])\n")
	f.Add("load(\"@rules_btf//rules:defs.bzl\", x = \"btf_objects\")\nx(name = \"y\")\n# c\n")
	f.Add("# a comment\n\nexports_files(srcs = glob([\"*.ko\"]))\nfor x in y: z()\n")
	f.Fuzz(func(t *testing.T, old string) {
		once, err := Merge("BUILD.bazel", []byte(old), fsPackage(t, "fs/open.o"))
		if err != nil {
			return
		}
		twice, err := Merge("BUILD.bazel", once, fsPackage(t, "fs/open.o"))
		if err != nil || string(twice) != string(once) {
			t.Errorf("once\n%s\ntwice\n%s\n%v", once, twice, err)
		}
	})
}
