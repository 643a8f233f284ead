package rules

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// executors has the tools of two platforms: of the host, and of an executor with another processor.
const executors = `
load("@platforms//host:constraints.bzl", "HOST_CONSTRAINTS")
load("@rules_btf//rules:defs.bzl", "btf_toolchain")
EXECUTOR = ["@platforms//os:linux", "@platforms//cpu:riscv64"]
platform(name = "executor", constraint_values = EXECUTOR)
[btf_toolchain(
    name = name + "_tools",
    btfcore = name + "/btfcore",
    btfdedup = name + "/btfdedup",
    btfgen = name + "/btfgen",
    btfrepro = name + "/btfrepro",
) for name in ["executor", "host"]]
[toolchain(
    name = name + "_toolchain",
    exec_compatible_with = constraints,
    toolchain = name + "_tools",
    toolchain_type = "@rules_btf//rules/toolchain:toolchain_type",
) for name, constraints in {"executor": EXECUTOR, "host": HOST_CONSTRAINTS}.items()]
`

// toolsOf writes scripts that run our tools. Those of the executor stand for programs that the host
// can't run: they refuse to run under "bazel run".
func toolsOf(w *harness.Workspace, machine string) {
	for _, tool := range []string{"btfcore", "btfdedup", "btfgen", "btfrepro"} {
		path := "platforms/" + machine + "/" + tool
		check := `[ -z "$BUILD_WORKSPACE_DIRECTORY" ] || { echo Exec format error >&2; exit 126; }`
		if machine == "host" {
			check = ""
		}
		w.Write(path, fmt.Sprintf("#!/bin/sh\n%s\necho %s: on the %s >&2\nexec %s \"$@\"\n", check, tool,
			machine, harness.Tool(w, tool)))
		w.Shell("chmod +x " + path)
	}
}

// TestRun starts tests and tools with "bazel run", where an executor that the host differs from is
// the first execution platform, and where it is the only one.
func TestRun(t *testing.T) {
	harness.Need(t, "clang")
	w := harness.NewWorkspaceWithoutTools(t, filepath.Join(harness.Repo(), "examples/hello"), "gcc")
	w.Write("MODULE.bazel", w.Read("MODULE.bazel")+`bazel_dep(name = "platforms", version = "0.0.11")`)
	w.Write("platforms/BUILD.bazel", executors)
	toolsOf(w, "executor")
	toolsOf(w, "host")
	const flags = " --spawn_strategy=local --extra_execution_platforms=//platforms:executor" +
		" --extra_toolchains=//platforms:executor_toolchain,//platforms:host_toolchain "
	const only = flags + "--host_platform=//platforms:executor "

	w.Shell(`set -e; mkdir -p run/below; cd run
		echo 'struct s { long i; } s; int f(struct s *s) { return s->i; }' > kernel.c
		echo 'char __this_module[64] __attribute__((section(".gnu.linkonce.this_module")));
			struct s { long i; }; int m(struct s *s) { return s->i; }' > m.c
		gcc -g -c kernel.c && ld -e 0 -o kernel.elf kernel.o
		gcc -g -c m.c && ld -r -o m.ko m.o
		echo 'struct s { long i; } __attribute__((preserve_access_index));
			__attribute__((section("tc"))) int prog(struct s *s) { return s->i; }' > prog.c
		clang -g -O2 -target bpf -c -o prog.o prog.c
		echo f > symbols; touch abi.kabi`)
	log := string(harness.ReadFile(t, filepath.Join(harness.Repo(),
		"internal/repro/testdata/mapped_a.log")))
	w.Write("run/a.log", log)
	w.Write("run/b.log", log)
	w.Write("run/BUILD.bazel", `
load("@rules_btf//rules:defs.bzl", "bpf_needs", "btf_core_test", "btf_diff_test", "btf_repro_test",
     "btf_verify_test", "modules_btf", "vmlinux_btf")
vmlinux_btf(name = "vmlinux_btf", vmlinux = "kernel.elf")
modules_btf(name = "modules", base = ":vmlinux_btf", embed = True, modules = ["m.ko"])
bpf_needs(name = "needs", srcs = ["prog.o"])
btf_core_test(name = "core_test", kernels = [":vmlinux_btf"], needs = [":needs"])
btf_diff_test(name = "diff_test", actual = ":vmlinux_btf", expected = ":vmlinux_btf")
btf_diff_test(name = "kabi_test", actual = ":vmlinux_btf", expected = "abi.kabi",
              symbols = "symbols")
btf_repro_test(name = "repro_test", a = "a.log", b = "b.log")
btf_verify_test(name = "verify_test", srcs = [":vmlinux_btf", ":modules"])
`+block(t, starlark(t, filepath.Join(harness.Repo(), "docs/rules.md")), "$(BTFDEDUP)"))
	for target, want := range map[string]string{
		"//run:core_test":        "loads",
		"//run:diff_test":        "",
		"//run:kabi_test.update": "",
		"//run:repro_test":       "",
		"//run:verify_test":      "1 module: 1 load",
		"@rules_btf//:btfgen -- elf -o made.btf ../kernel.elf": "",
		"@rules_btf//:btfrepro -- diff ../a.log ../b.log":      "",
	} {
		label, arguments, _ := strings.Cut(target, " ")
		printed, exit := w.Try("cd run/below && bazel run" + flags + label + " " + arguments)
		if exit != 0 || !strings.Contains(printed, ": on the host\n") ||
			!strings.Contains(printed, want) {
			t.Errorf("bazel run %s: exit %d, want %q\n%s", target, exit, want, printed)
		}
		printed, exit = w.Try("bazel run" + only + label)
		if exit != 1 || strings.Count(printed, "for this machine: register a toolchain") != 1 {
			t.Errorf("without a platform like the host, bazel run %s: exit %d\n%s", label, exit, printed)
		}
	}
	w.Shell("bazel build" + flags + "//run:types")
	for file, want := range map[string]string{"run/abi.kabi": "struct s",
		"run/below/made.btf": "\x00s\x00", "bazel-bin/run/types.txt": "STRUCT 's'"} {
		if text := w.Read(file); !strings.Contains(text, want) {
			t.Errorf("%s doesn't contain %q:\n%q", file, want, text)
		}
	}
	for _, flags := range []string{flags, only} {
		printed := w.Shell("bazel test --test_output=all" + flags + "//run:all")
		if n := strings.Count(printed, ": on the executor\n"); n != 5 {
			t.Errorf("bazel test%s ran %d tests on the executor, want 5\n%s", flags, n, printed)
		}
	}
}
