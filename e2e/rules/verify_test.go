package rules

import (
	"strings"
	"testing"
)

// TestVerify runs btf_verify_test on a directory of modules, which is made of links in a sandbox,
// and on archives.
func TestVerify(t *testing.T) {
	w := newWorkspace(t)
	w.Shell(`set -e
		echo 'const char reads_btf[] = "failed to validate module [";
			struct s { long i; } s; int f(struct s *s) { return s->i; }' > kernel.c
		echo 'int f(void) { return 0; }' > other.c
		echo 'char __this_module[64] __attribute__((section(".gnu.linkonce.this_module")));
			struct s { long i; }; int m(struct s *s) { return s->i; }' > m.c
		gcc -g -c kernel.c && ld -e 0 -o kernel.elf kernel.o
		gcc -g -c other.c && ld -e 0 -o other.elf other.o
		gcc -g -c m.c && ld -r -o m.ko m.o`)
	// Like /lib/modules/RELEASE: modules below a directory, and a file that isn't a module.
	w.Write("tree.bzl", `
def _tree_impl(ctx):
    out = ctx.actions.declare_directory(ctx.label.name)
    ctx.actions.run_shell(
        inputs = ctx.files.srcs,
        outputs = [out],
        arguments = [out.path] + [file.path for file in ctx.files.srcs],
        command = "out=$1; shift; mkdir -p $out/kernel; cp $@ $out/kernel; echo > $out/modules.dep",
    )
    return [DefaultInfo(files = depset([out]))]

tree = rule(_tree_impl, attrs = {"srcs": attr.label_list(allow_files = True)})
`)
	w.Write("BUILD.bazel", `
load("@rules_btf//rules:defs.bzl", "btf_archive", "btf_embed", "btf_verify_test", "modules_btf",
     "vmlinux_btf")
load(":tree.bzl", "tree")
vmlinux_btf(name = "kernel_btf", vmlinux = "kernel.elf")
vmlinux_btf(name = "other_btf", vmlinux = "other.elf")
btf_embed(name = "vmlinux", src = "kernel.elf", btf = ":kernel_btf")
tree(name = "tree", srcs = ["m.ko"])
modules_btf(name = "modules", base = ":kernel_btf", embed = True, modules = [":tree"])
filegroup(name = "embedded", srcs = [":modules"], output_group = "btf_embedded")
btf_archive(name = "archive", modules = [":modules"], release = "7.2", vmlinux = ":kernel_btf")
btf_archive(name = "packed", format = "tar.zst", release = "7.2", vmlinux = ":kernel_btf")
btf_verify_test(name = "modules_test", srcs = [":vmlinux", ":modules"])
btf_verify_test(name = "btf_test", srcs = [":kernel_btf", ":embedded"])
btf_verify_test(name = "archive_test", archive = ":archive")
btf_verify_test(name = "packed_test", archive = ":packed")
btf_verify_test(name = "other_test", srcs = [":other_btf", ":modules"], tags = ["manual"])
btf_verify_test(name = "no_btf_test", srcs = [":kernel_btf", ":tree"], tags = ["manual"])
`)
	w.Shell("bazel test //...")
	for target, want := range map[string]string{
		":modules_test": "loads: modules/tree.ko.d/kernel/m.ko\n1 module: 1 load,",
		":other_test":   "0 load, 0 load without BTF, 0 load with wrong BTF, 1 refused",
		":no_btf_test":  "loads: tree/kernel/m.ko: it has no BTF",
	} {
		got := w.Shell("bazel test --test_output=all " + target + " 2>&1 || true")
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s\nwant %q", target, got, want)
		}
	}
}
