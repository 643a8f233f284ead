package examples

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// ruleExamples returns the Starlark blocks in docs/rules.md, which come from the rules' docstrings.
func ruleExamples(t *testing.T) (found []string) {
	t.Helper()
	page := string(harness.ReadFile(t, filepath.Join(harness.Repo(), "docs/rules.md")))
	for _, b := range blocks(page) {
		if b.kind == "starlark" {
			found = append(found, b.text)
		}
	}
	return found
}

// ruleExample returns the only example that contains a piece of text.
func ruleExample(t *testing.T, piece string) string {
	t.Helper()
	var found []string
	for _, text := range ruleExamples(t) {
		if strings.Contains(text, piece) {
			found = append(found, text)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d examples have %q, want 1", len(found), piece)
	}
	return found[0]
}

// targets has the definitions of targets to which examples in docs/rules.md refer, but which these
// examples don't define. The keys are the targets' names.
var targets = map[string]string{
	"agent_btf":       `btf_min(name = "agent_btf", kernels = ["a.btf"], needs = [":agent_needs"])`,
	"agent_needs":     `bpf_needs(name = "agent_needs", srcs = ["exec.bpf.o"])`,
	"bottom":          `cc_library(name = "bottom", srcs = ["a.c"])`,
	"disk_btf":        `module_btf(name = "disk_btf", base = ":vmlinux_btf", module = "disk.ko")`,
	"drivers_objects": `cc_btf(name = "drivers_objects", deps = [":bottom"])`,
	"modules_btf":     `modules_btf(name = "modules_btf", base = ":vmlinux_btf", modules = ["m.ko"])`,
	"net_objects":     `btf_objects(name = "net_objects", srcs = ["a.o"])`,
	"nf_nat_btf":      `module_btf(name = "nf_nat_btf", base = ":vmlinux_btf", module = "nf_nat.ko")`,
	"release_btf":     `btf_archive(name = "release_btf", release = "7.2", vmlinux = ":vmlinux_btf")`,
	"vmlinux":         `filegroup(name = "vmlinux", srcs = ["vmlinux.elf"])`,
	"vmlinux_btf":     `vmlinux_btf(name = "vmlinux_btf", srcs = ["a.o"])`,
}

// A source is a file to which examples refer.
type source struct {
	path    string // relative to the package
	glob    string // how examples refer to it, if not by its path
	command string // makes the file from a.o, in a directory with the tools and a.c
}

const (
	copied = "cp a.o $OUT"
	module = `echo 'struct disk { int n; } disk; int add(void) { return disk.n; }' >m.c &&
gcc -g -c m.c -o $OUT`
	raw = "btfgen elf -o $OUT a.o"
	bpf = `echo 'struct task { int pid; } __attribute__((preserve_access_index));
int get(struct task *t) { return t->pid; }' >bpf.c && clang -g -O2 -target bpf -c bpf.c -o $OUT`
	empty = ": >$OUT" // for tests, which are built and not run
)

// sources are the files of the examples. All examples have a.c and a.o.
var sources = []source{
	{path: "a.o", glob: "*.o", command: copied},
	{path: "kernel/a.o", glob: "kernel/**/*.o", command: copied},
	{path: "init/main.o", command: copied},
	{path: "ipv4/checksum.a", command: "ar cr $OUT a.o"},
	{path: "vmlinux.elf", command: "ld -e 0 -o $OUT a.o"},
	{path: "disk.ko", command: module},
	{path: "raid.ko", command: module},
	{path: "nf_nat.ko", command: module},
	{path: "m.ko", command: module},
	{path: "kernel/a.ko", glob: "kernel/**/*.ko", command: module},
	{path: "a.btf", command: raw},
	{path: "pahole.btf", command: raw},
	{path: "boot/vmlinuz-7.2.0-amd64", command: "btfgen elf -o raw a.o && btfdedup embed -o $OUT --btf raw a.o"},
	{path: "btfhub/ubuntu/5.4.0-42-generic.btf.tar.xz", glob: "btfhub/**/*.btf.tar.xz",
		command: "btfgen elf -o a.btf a.o && tar -cJf $OUT a.btf"},
	{path: "exec.bpf.o", command: bpf},
	{path: "net.bpf.o", command: bpf},
	{path: "tracer.bpf.c", command: "echo '#include \"vmlinux.h\"' >$OUT"},
	{path: "abi.kabi", command: empty},
	{path: "kabi_stablelist", command: empty},
	{path: "expected_failures.txt", command: empty},
	{path: "first_runner.log", command: empty},
	{path: "second_runner.log", command: empty},
	{path: "linux-binary-7.2.12.deb", command: empty},
	{path: "linux-modules-7.2.12.deb", command: empty},
	{path: "bin/btfgen", command: empty},
	{path: "bin/btfdedup", command: empty},
}

// makeSources writes the files to which a package refers.
func makeSources(t *testing.T, dir, page string) {
	t.Helper()
	harness.WriteFile(t, filepath.Join(dir, "a.c"),
		"struct task { int pid; } init;\nint get(struct task *t) { return t->pid; }\n")
	commands := []string{"set -e", "made=$(mktemp -d)", "gcc -g -c -o $made/a.o a.c", "here=$PWD"}
	for _, s := range sources {
		if !strings.Contains(page, strconv.Quote(s.path)) &&
			(s.glob == "" || !strings.Contains(page, strconv.Quote(s.glob))) {
			continue
		}
		commands = append(commands, "OUT=$here/"+s.path, "mkdir -p $(dirname $OUT)", "cd $made",
			s.command)
	}
	path := fmt.Sprintf("PATH=%s:%s:%s", filepath.Dir(harness.Tool(t, "btfgen")),
		filepath.Dir(harness.Tool(t, "btfdedup")), os.Getenv("PATH"))
	harness.Command{Argv: []string{"bash", "-c", strings.Join(commands, "\n")}, Dir: dir,
		Env: []string{path}}.Must(t)
}

// header loads the rules that the examples use, as users must do when they copy an example.
const header = `load("@rules_btf//rules:defs.bzl", "bpf_needs", "btf_archive", "btf_core_test",
    "btf_diff_test", "btf_embed", "btf_import", "btf_min", "btf_objects", "btf_repro_test",
    "btf_section_object", "btf_toolchain", "btf_verify_test", "cc_btf", "module_btf", "modules_btf",
    "vmlinux_btf", "vmlinux_h")
load("@rules_cc//cc:cc_library.bzl", "cc_library")
`

// examplePackage returns a BUILD file with an example. The file also has the targets that the
// example names without defining them.
func examplePackage(text string) string {
	load := regexp.MustCompile(`(?s)load\(\s*"@rules_btf//rules:defs.bzl",.*?\)\n`)
	page := header + load.ReplaceAllString(text, "")
	for changed := true; changed; {
		changed = false
		for name, rule := range targets {
			if strings.Contains(page, fmt.Sprintf(`":%s"`, name)) &&
				!strings.Contains(page, fmt.Sprintf(`name = "%s"`, name)) {
				page += rule + "\n"
				changed = true
			}
		}
	}
	return page
}

// TestRules lets Bazel build each example in docs/rules.md, in its own package.
func TestRules(t *testing.T) {
	harness.Need(t, "gcc", "clang")
	from := t.TempDir()
	write := func(path, text string) { harness.WriteFile(t, filepath.Join(from, path), text) }
	n, modules := 0, 0
	var variant, toolchain string
	for _, text := range ruleExamples(t) {
		switch {
		case strings.HasPrefix(text, "# MODULE.bazel\n"):
			modules++
			continue
		case strings.HasPrefix(text, "# variant.bzl\n"):
			variant = text
			continue
		}
		n++
		dir := fmt.Sprintf("example%d", n)
		if strings.Contains(text, "btf_toolchain(\n") {
			toolchain = "//" + dir
		}
		text = strings.ReplaceAll(text, "@debian_kernel//:boot", "//boot:boot")
		page := examplePackage(text)
		write(dir+"/BUILD.bazel", page)
		makeSources(t, filepath.Join(from, dir), page)
		if strings.Contains(text, `":variant.bzl"`) {
			write(dir+"/variant.bzl", variant)
		}
	}
	if n < 19 || variant == "" || modules != 1 {
		t.Errorf("%d examples, variant.bzl of %d bytes, %d of MODULE.bazel: the test misreads the page",
			n, len(variant), modules)
	}
	const library = "load(\"@rules_cc//cc:cc_library.bzl\", \"cc_library\")\n" +
		"package(default_visibility = [\"//visibility:public\"])\n"
	for path, names := range map[string][]string{"": {"kernel"}, "drivers": {"drivers", "disk", "net"},
		"server": {"server"}, "third_party": {"zlib"}} {
		text := library
		for _, name := range names {
			deps := ""
			if name == "server" {
				deps = `, deps = ["//third_party:zlib"]`
			}
			text += fmt.Sprintf("cc_library(name = %q, srcs = [\"a.c\"]%s)\n", name, deps)
		}
		write(filepath.Join(path, "BUILD.bazel"), text)
		write(filepath.Join(path, "a.c"), "int get(int n) { return n; }\n")
	}
	const boot = "exports_files([\"boot/vmlinuz-7.2.0-amd64\"])\n"
	write("boot/BUILD.bazel", boot)
	makeSources(t, filepath.Join(from, "boot"), boot)
	// The example for btf_toolchain defines a toolchain with prebuilt tools. The example's second
	// block, a line for MODULE.bazel, registers this toolchain.
	write("MODULE.bazel", string(harness.ReadFile(t, example("hello/MODULE.bazel")))+
		strings.ReplaceAll(ruleExample(t, `register_toolchains("//:prebuilt")`), "//:", toolchain+":"))
	w := newWorkspace(t, from)
	w.AddBtfcore(t)
	w.Edit("prebuilt/BUILD.bazel", "    btfgen =", // nothing runs this tool
		"    btfrepro = \"files/btfgen\",\n    btfgen =")
	w.Shell("bazel build --copt=-g --strip=never //...")
}

// TestVmlinuxH makes a kernel's vmlinux.h, and compiles two targets that include this header: a BPF
// program, which the genrule in the example of vmlinux_h compiles, and a cc_library.
func TestVmlinuxH(t *testing.T) {
	harness.Need(t, "clang")
	w := newWorkspace(t, example("hello"))
	w.Write("tracer/BUILD.bazel", header+`
cc_btf(name = "objects", deps = ["//kernel:vmlinux"])
vmlinux_btf(name = "vmlinux_btf", srcs = [":objects"], vmlinux = "//kernel:vmlinux")
cc_library(name = "host", srcs = ["host.c"], deps = [":vmlinux_h"])
`+ruleExample(t, "vmlinux_h(\n"))
	w.Write("tracer/tracer.bpf.c", `#include "vmlinux.h"

int length(struct run_queue *queue)
{
	return queue->length;
}
`)
	w.Write("tracer/host.c", `#include <vmlinux.h>

unsigned long size = sizeof(struct run_queue);
`)
	w.Shell("bazel build //tracer:tracer //tracer:host")
	f := must.Get(elf.Open(filepath.Join(w.Dir, "bazel-bin/tracer/tracer.bpf.o")))(t)
	defer f.Close()
	if f.Machine != elf.EM_BPF || f.Section(".BTF.ext") == nil {
		t.Errorf("tracer.bpf.o is for %v; it has .BTF.ext: %t", f.Machine, f.Section(".BTF.ext") != nil)
	}
}
