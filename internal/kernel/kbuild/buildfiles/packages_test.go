package buildfiles

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/kernel/kbuild"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func example() *kbuild.Tree {
	return &kbuild.Tree{
		Vmlinux: &kbuild.Linked{Name: "vmlinux", Path: "vmlinux",
			Objects: []string{"init/main.o", "fs/open.o", "fs/exec.o", ".vmlinux.export.o"}},
		Modules: []kbuild.Linked{
			{Name: "fat", Path: "fs/fat/fat.ko", Objects: []string{"fs/fat/dir.o", "fs/fat/misc/nfs.o",
				".module-common.o"}},
			{Name: "vfat", Path: "fs/fat/vfat.ko", Objects: []string{"fs/fat/vfat.o",
				".module-common.o"}},
		},
		Skipped: []kbuild.Skipped{{Path: "init/entry.o", Reason: "no DWARF"}},
	}
}

// packages returns the BUILD files of a tree, by directory.
func packages(t *testing.T, tree *kbuild.Tree, o Options) map[string]string {
	t.Helper()
	if o.Rules == "" {
		o.Rules = DefaultRules
	}
	due := must.Get(Packages(tree, o))(t)
	texts := map[string]string{}
	for dir, p := range due {
		text := must.Get(Merge(dir+"/BUILD.bazel", nil, p))(t)
		texts[dir] = string(text)
	}
	return texts
}

// contains checks that the text of a BUILD file contains parts, ignoring blanks and line ends.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	flat := func(s string) string {
		s = strings.Join(strings.Fields(s), "")
		return strings.NewReplacer(",]", "]", ",)", ")").Replace(s)
	}
	for _, part := range parts {
		if !strings.Contains(flat(text), flat(part)) {
			t.Errorf("no %s in\n%s", part, text)
		}
	}
}

func TestPackages(t *testing.T) {
	texts := packages(t, example(), Options{})
	dirs := slices.Sorted(maps.Keys(texts))
	if want := []string{".", "fs", "fs/fat", "fs/fat/misc", "init"}; !slices.Equal(dirs, want) {
		t.Errorf("packages %q, want %q", dirs, want)
	}
	contains(t, texts["fs"], `load("@rules_btf//rules:defs.bzl", "btf_objects")`,
		`btf_objects(name = "vmlinux_objects", srcs = ["exec.o", "open.o"], tags = ["kbuild"])`)
	contains(t, texts["fs/fat"], `exports_files(["fat.ko", "vfat.ko"])`,
		`name = "fat_objects", srcs = ["dir.o"]`, `name = "vfat_objects", srcs = ["vfat.o"]`)
	contains(t, texts["fs/fat/misc"], `name = "fat_objects", srcs = ["nfs.o"]`)
	contains(t, texts["."],
		`vmlinux_btf(name = "vmlinux_btf", srcs = [":vmlinux_objects", "//fs:vmlinux_objects",
			"//init:vmlinux_objects"], tags = ["kbuild"], vmlinux = "vmlinux")`,
		`name = "objects_of_several", srcs = [".module-common.o"]`,
		`module_btf(name = "fat_btf", srcs = [":objects_of_several", "//fs/fat:fat_objects",
			"//fs/fat/misc:fat_objects"], base = ":vmlinux_btf", module = "//fs/fat:fat.ko"`,
		`name = "modules_btf", srcs = [":fat_btf", ":vfat_btf"]`,
		`name = "all_btf", srcs = [":modules_btf", ":vmlinux_btf"]`,
		`exports_files(["kbuild.skipped", "vmlinux"])`)
	if got := string(SkippedText(example())); got != "init/entry.o: no DWARF\n" {
		t.Errorf("skipped: %q", got)
	}
}

// TestDWOs: rules list the .dwo files of objects that have one.
func TestDWOs(t *testing.T) {
	tree := example()
	tree.DWOs = map[string][]string{"fs/open.o": {"fs/open.dwo", "mm/slab.dwo"},
		"fs/fat/dir.o": {"fs/fat/dir.dwo"}}
	texts := packages(t, tree, Options{})
	contains(t, texts["fs"], `name = "vmlinux_objects", srcs = ["exec.o", "open.o"],
		debug = ["//mm:slab.dwo", "open.dwo"], tags = ["kbuild"]`)
	contains(t, texts["fs/fat"], `name = "fat_objects", srcs = ["dir.o"], debug = ["dir.dwo"]`,
		`name = "vfat_objects", srcs = ["vfat.o"], tags = ["kbuild"]`)
	if strings.Contains(texts["."], "debug") {
		t.Errorf("without sites, the rules that link need no .dwo files:\n%s", texts["."])
	}
	texts = packages(t, tree, Options{Inline: true}) // the linked files are read too
	contains(t, texts["."], `vmlinux_btf(name = "vmlinux_btf", srcs = [":vmlinux_objects",
		"//fs:vmlinux_objects", "//init:vmlinux_objects"],
		debug = ["//fs:open.dwo", "//mm:slab.dwo"], inline = True`,
		`base = ":vmlinux_btf", debug = ["//fs/fat:dir.dwo"], inline = True, module = "//fs/fat:fat.ko"`,
		`base = ":vmlinux_btf", inline = True, module = "//fs/fat:vfat.ko"`)
	contains(t, texts["mm"], `exports_files(["slab.dwo"])`)
	due, err := Packages(tree, Options{Rules: DefaultRules})
	if err != nil || !slices.Contains(Files(due), "fs/open.dwo") {
		t.Errorf("the files that the rules name: %q, %v", Files(due), err)
	}
}

// TestWhole: the rules convert linked files instead of objects.
func TestWhole(t *testing.T) {
	tree := example()
	tree.Vmlinux.Objects = nil
	for i := range tree.Modules {
		tree.Modules[i].Objects = nil
	}
	texts := packages(t, tree, Options{Vmlinux: true, Whole: true, LangExclude: []string{"rust"}})
	contains(t, texts["."],
		`vmlinux_btf(name = "vmlinux_btf", lang_exclude = ["rust"], tags = ["kbuild"],
			vmlinux = "vmlinux"`,
		`modules_btf(name = "modules_btf", base = ":vmlinux_btf", lang_exclude = ["rust"],
			modules = ["//fs/fat:fat.ko", "//fs/fat:vfat.ko"]`)
	if strings.Contains(texts["."], "btf_objects") {
		t.Error("objects are also converted")
	}
}

// TestInline: the rules that link also make the BTF of the sites of inlined functions. For that
// they read the linked file, so they leave out the same languages as the rules for objects.
func TestInline(t *testing.T) {
	o := Options{Inline: true, LangExclude: []string{"rust"}, Features: []string{"+layout"}}
	texts := packages(t, example(), o)
	contains(t, texts["."],
		`vmlinux_btf(name = "vmlinux_btf", srcs = [":vmlinux_objects", "//fs:vmlinux_objects",
			"//init:vmlinux_objects"], inline = True, lang_exclude = ["rust"], tags = ["kbuild"],
			vmlinux = "vmlinux")`,
		`base = ":vmlinux_btf", inline = True, lang_exclude = ["rust"], module = "//fs/fat:fat.ko"`,
		`name = "vmlinux_btf_inline", srcs = [":vmlinux_btf"], output_group = "btf_inline"`,
		`name = "modules_btf_inline", srcs = [":fat_btf", ":vfat_btf"], output_group = "btf_inline"`)
	contains(t, texts["fs"], `name = "vmlinux_objects", srcs = ["exec.o", "open.o"],
		btf_features = ["+layout"], lang_exclude = ["rust"], tags`)
	o.Vmlinux, o.Whole = true, true
	contains(t, packages(t, example(), o)["."],
		`vmlinux_btf(name = "vmlinux_btf", btf_features = ["+layout"], inline = True,
			lang_exclude = ["rust"]`,
		`modules_btf(name = "modules_btf", base = ":vmlinux_btf", btf_features = ["+layout"],
			inline = True, lang_exclude = ["rust"], modules`)
	if text := packages(t, example(), Options{})["."]; strings.Contains(text, "inline") {
		t.Errorf("sites that nobody wants:\n%s", text)
	}
}

// TestOutOfTree writes the packages of a directory of modules inside a larger workspace.
func TestOutOfTree(t *testing.T) {
	tree := example()
	tree.Vmlinux = nil
	if _, err := Packages(tree, Options{}); err == nil || !strings.Contains(err.Error(), "base") {
		t.Errorf("without a base: error %v", err)
	}
	texts := packages(t, tree, Options{Base: "@kernel//:vmlinux_btf", Package: "third_party/fat",
		Features: []string{"+distilled_base"}})
	contains(t, texts["."], `base = "@kernel//:vmlinux_btf"`, `"//third_party/fat/fs/fat:fat_objects"`)
	contains(t, texts["fs/fat"], `btf_features = ["+distilled_base"]`)
	if strings.Contains(texts["."], "vmlinux_btf_skipped") {
		t.Errorf("a target of vmlinux in\n%s", texts["."])
	}
}

// TestNames: if a module's target would have the name of another target, it gets a different name.
func TestNames(t *testing.T) {
	tree := example()
	tree.Modules[0].Name = "modules"
	contains(t, packages(t, tree, Options{})["."], `name = "modules_module_btf"`,
		`name = "modules_btf", srcs = [":modules_module_btf", ":vfat_btf"]`)
	tree.Modules[0].Objects = nil
	if _, err := Packages(tree, Options{}); err == nil || !strings.Contains(err.Error(), "fat.ko") {
		t.Errorf("a module without DWARF: error %v", err)
	}
}
