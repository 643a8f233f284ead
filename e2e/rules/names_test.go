package rules

import "testing"

// TestNames builds with files whose paths look like flags or parameter files, or contain "=".
func TestNames(t *testing.T) {
	w := newWorkspace(t)
	w.Shell(`set -e; mkdir -p -- -d =e
		echo 'struct s { int i; } s; int f(void) { return s.i; }' > a.c
		for o in ./-x.o ./@x.o a=b.o ./-d/x.o ./=e/--x=y.o; do gcc -g -c -o $o a.c; done
		for l in ./-linked ./-d/-linked; do ld -e 0 -o $l ./-x.o; done
		for ko in ./-m.ko ./@n.ko ./-d/-k=l.ko; do ld -r -o $ko ./-x.o; done
		cp ./@n.ko ./=e/k.ko
		cp ./-linked dwz; cp ./-linked other; dwz -l none -L none -m ./@sup dwz other`)
	w.Write("-d/BUILD.bazel", `exports_files(glob(["*"]))`)
	w.Write("=e/BUILD.bazel", `
load("@rules_btf//rules:defs.bzl", "modules_btf")
exports_files(glob(["*"]))
modules_btf(name = "modules", base = "//:@kernel", modules = ["k.ko"], visibility = ["//:__pkg__"])
`)
	w.Write("BUILD.bazel", `
load("@rules_btf//rules:defs.bzl", "btf_archive", "btf_diff_test", "btf_embed", "btf_import", "btf_objects",
     "module_btf", "modules_btf", "vmlinux_btf")

package(default_visibility = ["//visibility:public"])

objects = [":-x.o", ":@x.o", ":a=b.o", "//-d:x.o", "//=e:--x=y.o"]
btf_objects(name = "objects", srcs = objects, grain = "object")
btf_objects(name = "-group", srcs = objects)
vmlinux_btf(name = "@kernel", srcs = [":objects"], vmlinux = ":-linked")
vmlinux_btf(name = "-of=linked", out = "-k=.btf", vmlinux = "//-d:-linked")
btf_diff_test(name = "same_test", actual = ":@kernel", expected = ":-of=linked")
modules_btf(name = "modules", base = ":@kernel", modules = [":-m.ko", ":@n.ko", "//-d:-k=l.ko"],
            embed = True)
module_btf(name = "-m_btf", base = ":@kernel", module = ":-m.ko")
btf_embed(name = "embedded", src = ":-m.ko", btf = ":-m_btf")
btf_objects(name = "of_dwz", srcs = [":dwz"], debug = [":@sup"])
btf_archive(name = "archive", modules = ["//=e:modules", ":-m_btf"],
            paths = {":-m_btf": "kernel/-m.ko"}, release = "7.2", vmlinux = ":@kernel")
btf_import(name = "imported", src = ":-k=.btf")
`)
	w.Shell("bazel test //... --spawn_strategy=local")
}
