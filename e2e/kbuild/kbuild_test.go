// Package kbuild makes BTF with Bazel in all the ways that docs/kernel.md shows. Its kernel is a
// small tree with the same layout as a kernel tree that Kbuild has built.
package kbuild

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func TestMain(m *testing.M) { harness.Main(m) }

const module = `module(name = "kbuild")

bazel_dep(name = "rules_btf")
local_path_override(
    module_name = "rules_btf",
    path = "../..",
)

kbuild_tree = use_repo_rule("@rules_btf//kbuild:defs.bzl", "kbuild_tree")

kbuild_tree(
    name = "kernel",
    inline = True,
    path = "linux",
)

kbuild_tree(
    name = "linked",
    inline = True,
    modules = "whole",
    path_env = "LINUX",
    vmlinux = "whole",
)

kbuild_tree(
    name = "outside",
    base = "@kernel//:vmlinux_btf",
    btf_features = ["default", "distilled_base"],
    path = "outside",
)

kbuild_tree(
    name = "generated",
    generator = "//:generator",
    path = "linux",
)
`

const packages = `load("@rules_btf//kbuild:defs.bzl", "kbuild_btf")
load("@rules_btf//rules:defs.bzl", "modules_btf")
load(":big.bzl", "big_action")

exports_files(["generator"])

big_action(
    name = "big",
    srcs = glob(["linux/vmlinux", "linux/**/*.ko"]),
)

kbuild_btf(
    name = "big_btf",
    tree = ":big",
)

# What "make modules_install" writes, with compressed modules.
genrule(
    name = "install",
    srcs = glob(["linux/**/*.ko"]),
    outs = ["installed.tar.gz"],
    cmd = "d=$(@D)/root/lib/modules/7.2; mkdir -p $$d/kernel && cp -L $(SRCS) $$d/kernel && " +
          "gzip $$d/kernel/*.ko && ln -s /none $$d/build && ln -s /none $$d/source && " +
          "tar -C $(@D)/root -czf $@ . && rm -r $(@D)/root",
)

modules_btf(
    name = "installed_btf",
    base = ":big_btf_vmlinux_btf",
    modules = [":installed.tar.gz"],
)
`

// bigAction is a rule whose only output is a directory.
const bigAction = `def _big_action_impl(ctx):
    out = ctx.actions.declare_directory(ctx.label.name)
    ctx.actions.run_shell(
        inputs = ctx.files.srcs,
        outputs = [out],
        command = 'out=$1; shift; cp -L "$@" "$out"',
        arguments = [out.path] + [f.path for f in ctx.files.srcs],
    )
    return [DefaultInfo(files = depset([out]))]

big_action = rule(
    implementation = _big_action_impl,
    attrs = {"srcs": attr.label_list(allow_files = True)},
)
`

// sources are the kernel's source files.
var sources = map[string]string{
	"init/head.S": ".globl start\nstart: nop\n",
	"init/main.c": "struct page { long flags; }; struct page *first; int bcd(struct page *p);\n" +
		"static inline __attribute__((always_inline)) int early(struct page *p) { return bcd(p); }\n" +
		"int boot(struct page *p) { return early(p); }\n",
	"kernel/fork.c": "struct page { long flags; }; struct task { struct page *p; int pid; };\n" +
		"int fork(struct task *t) { return t->pid; }\n",
	"kernel/more.c": "union more { int a; char b[9]; }; int more(union more *m) { return m->a; }\n",
	"lib/bcd.c":     "struct page; int bcd(struct page *p) { return p != 0; }\n",
	"lib/unused.c":  "struct unused { int x; }; int unused(struct unused *u) { return u->x; }\n",
	"fs/fat/dir.c": "struct page { long flags; };\n" +
		"static inline __attribute__((always_inline)) int get(struct page *p) { return p->flags; }\n" +
		"int dir(struct page *p) { return get(p); }\n",
	"fs/fat/nfs.c":     "struct fat_nfs { int id; }; int nfs(struct fat_nfs *n) { return n->id; }\n",
	"fs/fat/fat.mod.c": "struct module { char name[8]; }; struct module this_module;\n",
}

type workspace struct {
	*testing.T
	dir, tree  string
	outputBase string
	bazel      []string
	flag       string // the Bazel flag that selects the toolchain
	cflags     string
}

func newWorkspace(t *testing.T) *workspace {
	harness.Need(t, "bazel", "gcc", "ld", "ar")
	outputBase := must.Get(os.MkdirTemp("", "bazel"))(t)
	w := &workspace{T: t, dir: t.TempDir(), outputBase: outputBase,
		bazel: []string{"bazel", "--output_base=" + outputBase}}
	t.Cleanup(func() {
		harness.Command{Argv: append(w.bazel, "clean", "--expunge"), Dir: w.dir}.Run()
		harness.Command{Argv: []string{"chmod", "-R", "u+w", outputBase}}.Run()
		os.RemoveAll(outputBase)
	})
	w.tree = filepath.Join(w.dir, "linux")
	from := t.TempDir()
	for name, text := range map[string]string{"MODULE.bazel": module, "BUILD.bazel": packages,
		"big.bzl": bigAction} {
		harness.WriteFile(t, filepath.Join(from, name), text)
	}
	harness.CopyWorkspace(t, from, w.dir)
	w.flag = harness.AddTools(t, w.dir, harness.Tool(t, "btfgen"), harness.Tool(t, "btfdedup"))
	for name, text := range sources {
		harness.WriteFile(t, filepath.Join(w.tree, name), text)
	}
	return w
}

// make builds the kernel and its module fat.ko. The parameters kernel and fat list objects to link
// in addition to the objects that are always linked.
func (w *workspace) make(kernel, fat string) {
	w.Helper()
	script := filepath.Join(harness.Repo(), "e2e/kbuild/testdata/make.sh")
	harness.Command{Argv: []string{"bash", script}, Dir: w.tree, Env: []string{
		"KERNEL_OBJECTS=init/main.o kernel/fork.o " + kernel, "FAT_OBJECTS=fs/fat/dir.o " + fat,
		"CFLAGS=" + w.cflags,
	}}.Must(w)
}

// build builds targets with Bazel.
func (w *workspace) build(targets ...string) {
	w.Helper()
	argv := append(slices.Clone(w.bazel), "build", w.flag, "--repo_env=LINUX="+w.tree)
	harness.MustRun(w, w.dir, append(argv, targets...)...)
}

// read returns the content of the only file that matches a pattern.
func (w *workspace) read(pattern string) []byte {
	w.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) != 1 {
		w.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	return harness.ReadFile(w, files[0])
}

// built returns the content of the only file below bazel-bin that matches a pattern.
func (w *workspace) built(pattern string) []byte {
	w.Helper()
	return w.read(filepath.Join(w.dir, "bazel-bin", pattern))
}

// elf returns the BTF that "btfgen elf" makes from a linked file in the tree.
func (w *workspace) elf(linked string, options ...string) []byte {
	w.Helper()
	return w.btfgen("elf", linked, options...)
}

// btfgen returns the BTF that a verb of btfgen makes from a linked file in the tree.
func (w *workspace) btfgen(verb, linked string, options ...string) []byte {
	w.Helper()
	out := filepath.Join(w.TempDir(), "out.btf")
	harness.MustRun(w, "", append([]string{harness.Tool(w, "btfgen"), verb, "-o", out,
		filepath.Join(w.tree, linked)}, options...)...)
	return harness.ReadFile(w, out)
}

// check lets Bazel make BTF from the objects, from the linked files, and from linked files in a
// directory that an action has made. It compares this BTF with the BTF that "btfgen elf" makes from
// the linked files, and returns the kernel's BTF.
func (w *workspace) check() []byte {
	w.Helper()
	vmlinux := w.elf("vmlinux")
	base := filepath.Join(w.TempDir(), "vmlinux.btf")
	harness.WriteFile(w, base, string(vmlinux))
	fat := w.elf("fs/fat/fat.ko", "--base", base)
	onFat := filepath.Join(w.TempDir(), "fat.btf")
	harness.WriteFile(w, onFat, string(fat))
	kernelSites := w.btfgen("inline", "vmlinux", "--base", base)
	fatSites := w.btfgen("inline", "fs/fat/fat.ko", "--base", base, "--base", onFat)
	if !bytes.Contains(kernelSites, []byte("\x00early\x00")) ||
		!bytes.Contains(fatSites, []byte("\x00get\x00")) {
		w.Error("btfgen inline finds no sites")
	}
	targets := []string{"//:big_btf", "//:installed_btf"}
	for _, tree := range []string{"@kernel//:", "@linked//:"} {
		targets = append(targets, tree+"all_btf", tree+"vmlinux_btf_inline", tree+"modules_btf_inline")
	}
	w.build(targets...)
	for pattern, want := range map[string][]byte{
		"external/*kernel/vmlinux_btf.btf":            vmlinux,
		"external/*kernel/vmlinux_btf.inline.btf":     kernelSites,
		"external/*kernel/fat_btf.btf":                fat,
		"external/*kernel/fat_btf.inline.btf":         fatSites,
		"external/*linked/vmlinux_btf.btf":            vmlinux,
		"external/*linked/vmlinux_btf.inline.btf":     kernelSites,
		"external/*linked/modules_btf/fat.btf":        fat,
		"external/*linked/modules_btf/fat.inline.btf": fatSites,
		"big_btf_vmlinux_btf.btf":                     vmlinux,
		"big_btf_modules_btf/*/fat.btf":               fat,
		"installed_btf/*/fat.btf":                     fat,
	} {
		if !bytes.Equal(w.built(pattern), want) {
			w.Errorf("%s differs from the output of btfgen elf", pattern)
		}
	}
	return vmlinux
}

func TestTree(t *testing.T) {
	w := newWorkspace(t)
	w.make("", "")
	copyTree(t, filepath.Join(w.tree, "fs/fat"), filepath.Join(w.dir, "outside"))
	first := w.check()
	if bytes.Contains(first, []byte("unused\x00")) {
		t.Error("the BTF has types of a member of lib.a that was not linked")
	}
	skipped := w.read(filepath.Join(w.outputBase, "external/*kernel/kbuild.skipped"))
	if !strings.HasPrefix(string(skipped), "init/head.o: no DWARF") {
		t.Errorf("kbuild.skipped: %q", skipped)
	}

	// Kbuild's files now list one more object for vmlinux, and one more for the module.
	w.make("kernel/more.o", "fs/fat/nfs.o")
	second := w.check()
	if bytes.Equal(first, second) || !bytes.Contains(second, []byte("\x00more\x00")) {
		t.Error("a new object doesn't change the BTF")
	}
	// Now Kbuild's files no longer list the two objects.
	w.make("", "")
	if !bytes.Equal(w.check(), first) {
		t.Error("after the new object is removed, the BTF differs from the first BTF")
	}

	// The BTF of a module outside of the tree has a distilled base, so that the module can be loaded
	// into other builds of the kernel.
	w.build("@outside//:fat_btf", "--output_groups=+btf_distilled_base")
	if !bytes.Contains(w.built("external/*outside/fat_btf.btf"), []byte("module\x00")) ||
		!bytes.Contains(w.built("external/*outside/fat_btf.base.btf"), []byte("page\x00")) {
		t.Error("fat's BTF lacks a type of the module, or its base lacks one that it needs")
	}
	t.Run("split", w.split)
	t.Run("errors", w.errors)
}

// split builds the kernel with CONFIG_DEBUG_INFO_SPLIT, which changes no byte of the BTF.
func (w *workspace) split(t *testing.T) {
	files := map[string][]byte{}
	for _, name := range []string{"vmlinux_btf.btf", "vmlinux_btf.inline.btf", "fat_btf.btf",
		"fat_btf.inline.btf"} {
		files[name] = w.built("external/*kernel/" + name)
	}
	harness.WriteFile(t, filepath.Join(w.tree, "include/config/auto.conf"),
		"CONFIG_DEBUG_INFO_SPLIT=y\n")
	w.cflags = "-gsplit-dwarf"
	w.make("", "")
	w.build("@kernel//:all_btf", "@kernel//:vmlinux_btf_inline", "@kernel//:modules_btf_inline")
	for name, want := range files {
		if got := w.built("external/*kernel/" + name); !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes, want %d", name, len(got), len(want))
		}
	}
	rules := w.read(filepath.Join(w.outputBase, "external/*kernel/BUILD.bazel"))
	if !bytes.Contains(rules, []byte("main.dwo")) {
		t.Errorf("no rule has a .dwo file:\n%s", rules)
	}
}

// copyTree copies a directory of modules, and makes the copy look like external modules
// (KBUILD_EXTMOD) that were built in a different directory: the lists in the copy have absolute
// paths below that directory.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	harness.MustRun(t, "", "cp", "-a", from, to)
	harness.WriteFile(t, filepath.Join(to, "modules.order"), "/build/elsewhere/fat.o\n")
	harness.WriteFile(t, filepath.Join(to, "fat.mod"), "/build/elsewhere/dir.o\n")
	harness.WriteFile(t, filepath.Join(to, ".fat.ko.cmd"), "savedcmd_fat.ko := ld -r -o fat.ko "+
		"fat.o fat.mod.o\n")
}

// errors checks the errors for kernel trees that can't be read. Bazel must show the message of the
// failing command.
func (w *workspace) errors(t *testing.T) {
	for _, test := range []struct{ remove, want string }{
		{"vmlinux.a", "vmlinux.a: no such file"},
		{".", "build the kernel first"},
	} {
		must.OK(t, os.RemoveAll(filepath.Join(w.tree, test.remove)))
		argv := append(slices.Clone(w.bazel), "build", w.flag, "@kernel//:vmlinux_btf")
		r, err := harness.Command{Argv: argv, Dir: w.dir}.Run()
		if err != nil || r.Exit == 0 || !strings.Contains(r.Stderr, test.want) {
			t.Errorf("without %s: exit %d, %v\n%s", test.remove, r.Exit, err, r.Stderr)
		}
	}
}
