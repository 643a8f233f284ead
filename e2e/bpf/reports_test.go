package bpf

import (
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// prints runs a command. It fails the test unless the command has the given exit code and prints
// all the texts.
func prints(w *harness.Workspace, command string, exit int, texts ...string) {
	w.Helper()
	printed, got := w.Try(command)
	if got != exit {
		w.Errorf("%s: exit %d, want %d\n%s", command, got, exit, printed)
	}
	for _, text := range texts {
		if !strings.Contains(printed, text) {
			w.Errorf("%s: no %q in\n%s", command, text, printed)
		}
	}
}

const (
	passes = 0
	fails  = 3 // the exit code of "bazel test" if a test fails
)

// TestExpectedFailures checks that btf_core_test passes only if the list of expected failures is
// exact, and that its report says why a program fails.
func TestExpectedFailures(t *testing.T) {
	w := newWorkspace(t, "bpf")
	const test = "bazel test --test_output=all //:agent_loads_test"
	prints(w, test, passes, "fails   6.1  on_switch\n", "struct task_struct.wait.waits",
		"loads   6.12  on_switch\n")
	w.Edit("expected_failures.txt", "\n6.1 on_switch", "")
	prints(w, test, fails, "6.1 on_switch fails, which isn't expected")
	w.Edit("expected_failures.txt", "5.10 on_switch", "5.10 on_switch\n6.1 on_switch\n6.12 on_switch")
	prints(w, test, fails, "6.12 on_switch is expected to fail, but loads")
	w.Edit("expected_failures.txt", "6.12 on_switch", "6.13 on_switch")
	prints(w, test, fails, "6.13 on_switch is expected to fail, but wasn't checked")
}

// TestMistakes checks that the error message of an action names the faulty file.
func TestMistakes(t *testing.T) {
	w := newWorkspace(t, "bpf")
	w.Write("wrong/BUILD.bazel", `
load("@rules_btf//rules:defs.bzl", "bpf_needs", "btf_min")
genrule(
    name = "bare_bpf",
    srcs = ["bare.bpf.c"],
    outs = ["bare.bpf.o"],
    cmd = "clang -target bpf -O2 -c -o $@ $<",
)
bpf_needs(name = "bare", srcs = ["bare.bpf.o"])
btf_min(name = "text", kernels = ["kernel.btf"], needs = ["//:agent_needs"])
`)
	w.Write("wrong/bare.bpf.c", "int bare(void *context) { return 0; }\n")
	w.Write("wrong/kernel.btf", "no BTF\n")
	prints(w, "bazel build //wrong:bare", 1, "bare.bpf.o", "compile the programs with -g")
	prints(w, "bazel build //wrong:text", 1, "wrong/kernel.btf")
}

// renamed returns a list of expected failures in which each kernel is renamed. If names has several
// new names for a kernel, its lines are repeated for each.
func renamed(list string, names map[string][]string) (text string) {
	for line := range strings.Lines(list) {
		kernel, program, _ := strings.Cut(line, " ")
		for _, name := range names[kernel] {
			text += name + " " + program
		}
	}
	return text
}

// TestNames checks that each kernel is named after its path in a tree like BTFHub's or in a tree
// artifact. It also checks that the archives that btf_min writes have the same files as the trees.
func TestNames(t *testing.T) {
	w := newWorkspace(t, "bpf")
	w.Shell("bazel build kernels/5.10.btf kernels/6.1.btf kernels/6.12.btf && " +
		"for k in 5.10 6.1 6.12; do tar -C bazel-bin/kernels -cJf $k.btf.tar.xz $k.btf; done && " +
		"mkdir -p hub/hub/debian hub/hub/ubuntu && mv 6.12*.xz hub/hub/ubuntu && mv *.xz hub/hub/debian")
	w.Write("hub/directory.bzl", `
def _directory_impl(ctx):
    out = ctx.actions.declare_directory(ctx.label.name)
    ctx.actions.run_shell(
        inputs = ctx.files.srcs,
        outputs = [out],
        command = "out=$1 && shift && mkdir -p $out/arch && cp $@ $out/arch",
        arguments = [out.path] + [file.path for file in ctx.files.srcs],
    )
    return [DefaultInfo(files = depset([out]))]

directory = rule(_directory_impl, attrs = {"srcs": attr.label_list(allow_files = True)})
`)
	w.Write("hub/BUILD.bazel", `
load("@rules_btf//rules:defs.bzl", "btf_core_test", "btf_min")
load(":directory.bzl", "directory")
directory(name = "fedora", srcs = ["hub/ubuntu/6.12.btf.tar.xz"])
btf_min(name = "fedora_btf", kernels = [":fedora"], needs = ["//:agent_needs"])
btf_min(
    name = "made",
    kernels = glob(["hub/**/*.btf.tar.xz"]),
    needs = ["//:agent_needs"],
    strip_prefix = "hub",
)
btf_min(
    name = "made_archive",
    format = "tar.gz",
    kernels = glob(["hub/**/*.btf.tar.xz"]),
    needs = ["//:agent_needs"],
    strip_prefix = "hub",
)
btf_min(
    name = "fedora_archive",
    format = "tar.zst",
    kernels = [":fedora"],
    needs = ["//:agent_needs"],
)
btf_core_test(
    name = "made_test",
    expected_failures = "expected.txt",
    kernels = [":made", ":fedora_btf"],
    needs = ["//:agent_needs"],
)
btf_core_test(
    name = "own_test",
    expected_failures = "expected.txt",
    kernels = glob(["hub/**/*.btf.tar.xz"]) + [":fedora_btf"],
    needs = ["//:agent_needs"],
    strip_prefix = "hub",
)
`)
	w.Write("hub/expected.txt", renamed(w.Read("expected_failures.txt"), map[string][]string{
		"5.10": {"debian/5.10"}, "6.1": {"debian/6.1"}, "6.12": {"ubuntu/6.12", "arch/6.12"},
	}))
	for _, test := range []string{"made_test", "own_test"} {
		prints(w, "bazel test --test_output=all //hub:"+test, passes,
			"fails   debian/6.1  on_switch\n", "loads   ubuntu/6.12  on_switch\n",
			"loads   arch/6.12  on_switch\n")
	}
	w.Shell("bazel build //hub:made_archive //hub:fedora_archive")
	for archive, tree := range map[string]string{"made_archive.tar.gz": "made",
		"fedora_archive.tar.zst": "fedora_btf"} {
		w.Shell("mkdir from." + tree + " && tar -C from." + tree + " -xf bazel-bin/hub/" + archive +
			" && diff -r -x '*.params' from." + tree + " bazel-bin/hub/" + tree)
	}
	want := w.Read("bazel-bin/hub/made/ubuntu/6.12.btf")
	if got := w.Read("bazel-bin/hub/fedora_btf/arch/6.12.btf"); got != want {
		t.Error("a kernel's minimal BTF depends on whether the kernel is in a tree artifact")
	}
}

// TestModules makes minimal BTF that has types from a module. The BTF of the kernel and the module
// is made in the same build.
func TestModules(t *testing.T) {
	w := newWorkspace(t, "hello")
	w.Write("programs/BUILD.bazel", `
load("@rules_btf//rules:defs.bzl", "bpf_needs", "btf_core_test", "btf_min")
genrule(
    name = "disk_bpf",
    srcs = ["disk.bpf.c"],
    outs = ["disk.bpf.o"],
    cmd = "clang -target bpf -g -O2 -c -o $@ $<",
)
bpf_needs(name = "needs", srcs = [":disk_bpf"])
btf_min(name = "split", kernels = ["//:vmlinux_btf"], modules = ["//:disk_btf"], needs = [":needs"])
btf_min(
    name = "flat",
    flat = True,
    kernels = ["//:vmlinux_btf"],
    modules = ["//:disk_btf"],
    needs = [":needs"],
)
btf_core_test(name = "flat_test", kernels = [":flat"], needs = [":needs"])
btf_core_test(name = "kernel_test", kernels = ["//:vmlinux_btf"], needs = [":needs"])
`)
	w.Write("programs/disk.bpf.c", `
struct task {
	void *owner;
} __attribute__((preserve_access_index));

struct disk {
	unsigned long long size;
} __attribute__((preserve_access_index));

__attribute__((section("raw_tp/disk"), used))
int on_disk(struct task *task)
{
	struct disk *disk = (void *)task;

	return !task->owner + disk->size;
}
`)
	w.Write("BUILD.bazel", "package(default_visibility = [\"//visibility:public\"])\n\n"+
		w.Read("BUILD.bazel"))
	prints(w, "bazel test --test_output=all //programs:flat_test", passes,
		"loads   vmlinux_btf  on_disk")
	prints(w, "bazel test --test_output=all //programs:kernel_test", fails,
		"fails   vmlinux_btf  on_disk", "struct disk")
	w.Shell("bazel build //programs:split")
	if !strings.Contains(w.Read("bazel-bin/programs/split/vmlinux_btf/disk.btf"), "\x00disk\x00") {
		t.Error("the module's minimal BTF lacks its struct")
	}
}
