package rules

import (
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// TestVerify runs btf_verify_test on a directory of modules, which is made of links in a sandbox,
// and on archives. One of these has the sites of inlined functions.
func TestVerify(t *testing.T) {
	w := newWorkspace(t)
	w.Shell(`set -e
		echo '#define INLINE static inline __attribute__((always_inline))' > inline.h
		echo '#include "inline.h"
			const char reads_btf[] = "failed to validate module [";
			struct s { long i; } s; INLINE long in(struct s *s) { return s->i; }
			int f(struct s *s) { return in(s); }' > kernel.c
		echo 'int f(void) { return 0; }' > other.c
		echo '#include "inline.h"
			char __this_module[64] __attribute__((section(".gnu.linkonce.this_module")));
			struct s { long i; }; INLINE long in(struct s *s) { return s->i; }
			int m(struct s *s) { return in(s); }' > m.c
		gcc -g -c kernel.c && ld -e 0 -o kernel.elf kernel.o
		gcc -g -c other.c && ld -e 0 -o other.elf other.o
		gcc -g -c m.c && ld -r -o m.ko m.o && cp m.ko n.ko && cp m.ko o.ko`)
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
load("@rules_btf//rules:defs.bzl", "btf_archive", "btf_embed", "btf_verify_test", "module_btf",
     "modules_btf", "vmlinux_btf")
load(":tree.bzl", "tree")
vmlinux_btf(name = "kernel_btf", inline = True, vmlinux = "kernel.elf")
vmlinux_btf(name = "other_btf", vmlinux = "other.elf")
btf_embed(name = "vmlinux", src = "kernel.elf", btf = ":kernel_btf")
tree(name = "tree", srcs = ["m.ko"])
modules_btf(name = "modules", base = ":vmlinux", embed = True, inline = True,
            modules = [":tree"])
module_btf(name = "n_btf", base = ":vmlinux", inline = True, module = "n.ko")
btf_embed(name = "n", src = "n.ko", btf = ":n_btf", resolve_ids = False)
module_btf(name = "o_btf", base = ":vmlinux", btf_features = ["default", "distilled_base"],
           inline = True, module = "o.ko")
btf_embed(name = "o", src = "o.ko", btf = ":o_btf")
filegroup(name = "embedded", srcs = [":modules"], output_group = "btf_embedded")
btf_archive(name = "archive", modules = [":modules", ":n", ":o"], release = "7.2",
            vmlinux = ":vmlinux")
btf_archive(name = "packed", format = "tar.zst", release = "7.2", vmlinux = ":kernel_btf")
btf_verify_test(name = "modules_test", srcs = [":vmlinux", ":modules", ":n", ":o"])
btf_verify_test(name = "btf_test", srcs = [":kernel_btf", ":embedded"])
btf_verify_test(name = "archive_test", archive = ":archive")
btf_verify_test(name = "packed_test", archive = ":packed")
btf_verify_test(name = "other_test", srcs = [":other_btf", ":modules"], tags = ["manual"])
btf_verify_test(name = "no_btf_test", srcs = [":kernel_btf", ":tree"], tags = ["manual"])
`)
	w.Shell("bazel test //...")
	const files = "m m.inline manifest.json n n.inline o o.inline vmlinux vmlinux.inline"
	if got := strings.Fields(w.Shell("ls bazel-bin/archive")); strings.Join(got, " ") != files {
		t.Errorf("the archive has %v, want %s", got, files)
	}
	w.Shell(harness.Tool(t, "btfdedup") + " verify --manifest bazel-bin/archive/manifest.json")
	for _, ko := range []string{"vmlinux/kernel.elf", "n/n.ko", "o/o.ko"} {
		if !strings.Contains(w.Shell("readelf -SW bazel-bin/"+ko), " .BTF.inline ") {
			t.Errorf("%s has no .BTF.inline", ko)
		}
	}
	for target, want := range map[string]string{
		":modules_test": "loads: modules/tree.ko.d/kernel/m.ko",
		":other_test":   "0 load, 0 load without BTF, 0 load with wrong BTF, 1 refused",
		":no_btf_test":  "loads: tree/kernel/m.ko: it has no BTF",
	} {
		got := w.Shell("bazel test --test_output=all " + target + " 2>&1 || true")
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s\nwant %q", target, got, want)
		}
	}
}
