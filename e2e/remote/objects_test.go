package remote

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// The workspace in this file has a kernel whose object files are already compiled, like those that
// Kbuild leaves. So every action that Bazel runs there belongs to rules_btf.

const objectsModule = `module(name = "objects")

bazel_dep(name = "platforms", version = "0.0.10")
bazel_dep(name = "rules_btf", version = "0.1.0")
local_path_override(
    module_name = "rules_btf",
    path = %q,
)
`

const objectsHeader = `struct list { struct list *next, *prev; };
struct device;
struct task { int pid; struct list children; struct device *owner; char name[16]; };
struct device { struct list all; struct task *user; unsigned flags : 3, state : 5; };
enum state { IDLE, BUSY };
typedef unsigned long size;
`

// objectsSource returns the C source of object i, which has a struct and a function.
func objectsSource(i int) string {
	return fmt.Sprintf(`#include "common.h"
struct item%[1]d { struct list list; enum state state; size sizes[%[2]d]; struct device *device; };
int use%[1]d(struct item%[1]d *item, struct task *task)
{
	return item->sizes[0] + task->pid + item->device->flags;
}
`, i, i%60+1)
}

// objectsPerDir is the number of objects in a directory.
const objectsPerDir = 12

// objects returns a machine with a kernel that has n objects, and a module that has two objects.
func objects(t testing.TB, n int) *machine {
	t.Helper()
	harness.Need(t, "gcc", "ld")
	m := newMachine(t)
	m.targets = []string{"//:vmlinux_btf", "//:mod_btf"}
	m.results = []string{"vmlinux_btf.btf", "mod_btf.btf"}
	m.write("MODULE.bazel", fmt.Sprintf(objectsModule, harness.Repo()))
	m.write(".bazelrc", "common --noenable_workspace --lockfile_mode=off\n")
	m.write("include/common.h", objectsHeader)
	dirs := (n + objectsPerDir - 1) / objectsPerDir
	var build strings.Builder
	build.WriteString(`load("@rules_btf//rules:defs.bzl", "btf_objects", "module_btf", "vmlinux_btf")
`)
	var groups []string
	for d := range dirs {
		fmt.Fprintf(&build, `
btf_objects(
    name = "dir%d",
    srcs = glob(["dir%d/*.o"]),
)
`, d, d)
		groups = append(groups, fmt.Sprintf("%q", fmt.Sprintf(":dir%d", d)))
	}
	fmt.Fprintf(&build, `
vmlinux_btf(
    name = "vmlinux_btf",
    srcs = [%s],
    vmlinux = "vmlinux",
)

btf_objects(
    name = "mod_objects",
    srcs = glob(["mod/*.o"]),
)

module_btf(
    name = "mod_btf",
    srcs = [":mod_objects"],
    base = ":vmlinux_btf",
    module = "mod.ko",
)
`, strings.Join(groups, ", "))
	m.write("BUILD.bazel", build.String())
	for i := range n {
		m.compile(i, objectsSource(i))
	}
	for i := range 2 {
		source := fmt.Sprintf("mod/mod%d.c", i)
		m.write(source, objectsSource(100_000+i))
		m.gcc(source)
	}
	m.link()
	m.useBuiltTools()
	m.manyActions()
	return m
}

func (m *machine) write(name, text string) {
	m.t.Helper()
	harness.WriteFile(m.t, filepath.Join(m.dir, name), text)
}

// compile writes a text to the source file of object i, compiles it, and returns its path.
func (m *machine) compile(i int, text string) string {
	m.t.Helper()
	source := fmt.Sprintf("dir%d/file%d.c", i/objectsPerDir, i)
	m.write(source, text)
	m.gcc(source)
	return source
}

func (m *machine) gcc(source string) {
	m.t.Helper()
	harness.MustRun(m.t, m.dir, "gcc", "-g", "-O1", "-c", "-Iinclude", "-fno-stack-protector",
		"-fdebug-prefix-map="+m.dir+"=.", "-o", strings.TrimSuffix(source, ".c")+".o", source)
}

// link links vmlinux and mod.ko.
func (m *machine) link() {
	m.t.Helper()
	kernel := must.Get(filepath.Glob(filepath.Join(m.dir, "dir*/*.o")))(m.t)
	list := filepath.Join(m.scratch, "objects.list")
	harness.WriteFile(m.t, list, strings.Join(kernel, "\n"))
	harness.MustRun(m.t, m.dir, "ld", "-e", "use0", "-o", "vmlinux", "@"+list)
	harness.MustRun(m.t, m.dir, "ld", "-r", "-o", "mod.ko", "mod/mod0.o", "mod/mod1.o")
}

var quickMachine struct {
	m    *machine
	want map[string]string
}

// quick returns a machine that many tests share, whose kernel has 48 objects, and the digests of
// the machine's correct results.
func quick(t *testing.T) (*machine, map[string]string) {
	t.Helper()
	if quickMachine.m == nil {
		m := objects(keep{t}, 48)
		m.must()
		quickMachine.m, quickMachine.want = m, m.digests()
	}
	m := quickMachine.m
	m.t = t
	if quickMachine.want["vmlinux_btf.btf"] == "missing" {
		t.Fatal("the first build made no vmlinux_btf.btf")
	}
	return m, quickMachine.want
}

// keep is a testing.TB that runs no cleanups; removeQuick removes the files instead.
type keep struct{ testing.TB }

func (keep) Cleanup(func()) {}

func removeQuick() {
	if quickMachine.m != nil {
		quickMachine.m.remove()
	}
}

// preset returns the options in one of this repository's presets.
func preset(t testing.TB, name string) []string {
	t.Helper()
	var out []string
	text := harness.ReadFile(t, filepath.Join(harness.Repo(), "presets", name))
	for _, line := range strings.Split(string(text), "\n") {
		if words := strings.Fields(line); len(words) > 1 && !strings.HasPrefix(line, "#") {
			out = append(out, words[1:]...)
		}
	}
	if len(out) == 0 {
		t.Fatalf("presets/%s has no options", name)
	}
	return out
}

// exists reports whether a file exists.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
