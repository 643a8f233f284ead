package repro

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// newHello copies examples/hello. It returns the directory of the copy, and the Bazel flag that
// selects tools that "go build" has built, because Bazel would take minutes to build them.
func newHello(t *testing.T) (dir, flag string) {
	t.Helper()
	dir = t.TempDir()
	harness.CopyWorkspace(t, filepath.Join(harness.Repo(), "examples/hello"), dir)
	return dir, harness.AddTools(t, dir, harness.Tool(t, "btfgen"), harness.Tool(t, "btfdedup"))
}

// TestRunTargets lets "btfrepro run" build real targets twice: the BTF of a kernel and of modules.
// All actions must be the same in both builds.
func TestRunTargets(t *testing.T) {
	findBazel(t)
	dir, flag := newHello(t)
	scratch := t.TempDir()
	f, text := compared(t, 0, "run", "--workspace="+dir, "--scratch="+scratch, "--", flag,
		"--@rules_btf//rules/settings:grain=object", "//:vmlinux_btf", "//:raid_btf",
		"//:raid_btf_from_ko")
	// At least 7 CppCompile and 7 BtfGen, BtfMerge, 3 BtfFacts, 4 BtfLink and 2 BtfBase.
	if f.Verdicts["same"] < 24 || f.Cached > 0 {
		t.Errorf("%d actions are the same, of which %d came from a cache\n%s", f.Verdicts["same"],
			f.Cached, text)
	}
	checkEmpty(t, scratch)
}

// TestTools lets "btfrepro run" build the tools twice from source, in each of two modes. Because
// that takes minutes, the test runs only if REPRO_TOOLS=1 is set.
func TestTools(t *testing.T) {
	if os.Getenv("REPRO_TOOLS") == "" {
		t.Skip("SKIPPED: builds the tools four times from source; set REPRO_TOOLS=1 to run")
	}
	findBazel(t)
	for _, mode := range []string{"fastbuild", "opt"} {
		text := btfrepro(t, 0, "run", "--workspace="+harness.Repo(), "--scratch="+t.TempDir(),
			"--", "-c", mode, "//tools/btfgen", "//tools/btfdedup",
			"//tools/btfrepro")
		t.Log(text)
	}
}

// directoryRule is a rule that copies files to a tree artifact.
const directoryRule = `
def _many_impl(ctx):
    out = ctx.actions.declare_directory(ctx.label.name)
    ctx.actions.run_shell(
        inputs = ctx.files.srcs,
        outputs = [out],
        arguments = [out.path] + [file.path for file in ctx.files.srcs],
        command = "to=$1; shift; cp \"$@\" $to",
    )
    return [DefaultInfo(files = depset([out]))]

many = rule(implementation = _many_impl, attrs = {"srcs": attr.label_list(allow_files = True)})
`

// TestSplitTypes adds a member to a struct in a module. It checks that the report names the types
// that differ in three outputs: the BTF of the module, the BTF of another module that is based on
// it, and the directory that one action makes for many modules.
func TestSplitTypes(t *testing.T) {
	w := &workspace{bazel: findBazel(t), logs: t.TempDir()}
	var flag string
	w.dir, flag = newHello(t)
	w.makeBases(t)
	build := filepath.Join(w.dir, "BUILD.bazel")
	harness.WriteFile(t, build, string(harness.ReadFile(t, build))+`
load("@rules_btf//rules:defs.bzl", "modules_btf")
load(":many.bzl", "many")
many(name = "many", srcs = ["//drivers:disk.ko", "//drivers:raid.ko"])
modules_btf(name = "modules_btf", base = ":vmlinux_btf", modules = [":many"])
`)
	w.write(t, "many.bzl", directoryRule)
	a := w.build(t, "split", 0, flag)
	header := filepath.Join(w.dir, "drivers/disk.h")
	text := string(harness.ReadFile(t, header))
	changed := strings.Replace(text, "\tu64 size;\n", "\tu64 size;\n\tu32 flags;\n", 1)
	if changed == text {
		t.Fatal("disk.h has no member size")
	}
	harness.WriteFile(t, header, changed)
	b := w.build(t, "split", 1, flag)
	f, report := diff(t, 1, "--a-dir="+w.root(t, 0), "--b-dir="+w.root(t, 1), a, b)
	t.Log(report)
	const member = "differs: struct disk: member flags: only in B"
	for output, want := range map[string]string{
		"disk_btf.btf": member,
		// The struct that changes is in the base of this BTF.
		"raid_btf.btf": "indirect: struct raid: member members: refers to struct disk, which differs",
		"many.btf.d":   "types of disk.btf:",
	} {
		said := ""
		for _, action := range f.Actions {
			for _, o := range action.Outputs {
				if filepath.Base(o.Path) == output {
					said = strings.Join(o.More, "\n")
				}
			}
		}
		if !strings.Contains(said, want) {
			t.Errorf("for %s the report says %q, want %q", output, said, want)
		}
	}
	if _, err := os.Stat(filepath.Join(w.root(t, 0), "bazel-out")); err != nil {
		t.Error(err)
	}
}
