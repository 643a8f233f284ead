package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestVerifyShipped runs verify on modules and the BTF of their kernel.
func TestVerifyShipped(t *testing.T) {
	dir := t.TempDir()
	kernel, base := writeBTF(t, dir, "vmlinux.btf", nil, func(b *btf.Builder) {
		b.Int("int", 4, 0, 0)
	})
	_, otherBase := writeBTF(t, dir, "other.btf", nil, func(b *btf.Builder) {
		for range 9 {
			b.Int("another", 4, 0, 0)
		}
	})
	one := func(b *btf.Builder) { b.Ref(btf.KindTypedef, "own", 1) }
	split, _ := writeBTF(t, dir, "right", base, one)
	wrong, _ := writeBTF(t, dir, "wrong", otherBase, one)
	right, bad := moduleOf(t, split), moduleOf(t, wrong)
	tree := filepath.Join(dir, "tree")
	must.OK(t, os.MkdirAll(tree, 0o777))
	if out, err := exec.Command("cp", right, tree).CombinedOutput(); err != nil {
		t.Fatal(string(out))
	}
	const summary = " load, 0 load without BTF, 0 load with wrong BTF, "
	rows(t, dir, "verify", []row{
		{kernel + " " + right, 0, "loads: " + right + "\n1 module: 1" + summary + "0 refused\n", ""},
		{kernel + " " + tree, 0,
			"loads: " + tree + "/right.ko\n1 module: 1" + summary + "0 refused\n", ""},
		{kernel + " " + bad + " " + right, 1, "loads: " + right + "\nrefused: " + bad + ": ",
			"it isn't known whether the kernel was built with CONFIG_MODULE_ALLOW_BTF_MISMATCH"},
		{kernel + " " + right + " " + right, 0,
			"loads: " + right + "\nloads: " + right + "\n2 modules: 2" + summary + "0 refused\n",
			"warning: " + right + " and " + right + " are the same file"},
		{right, 1, "", "no kernel: pass the kernel's image (vmlinuz), or its BTF, as one more FILE"},
		{"--base " + kernel + " " + right, 0, "", ""},
		{"--modules " + dir + " " + right, 2, "", "--modules and --vmlinux need --manifest"},
		{"--base " + kernel + " " + tree, 1, "", "is a directory"},
		{kernel + " " + dir + "/none", 1, "", "no such file or directory"},
	})

	_, stdout, _ := btfdedup("verify", "--format=json", kernel, right, bad)
	var report shippedReport
	must.OK(t, json.Unmarshal([]byte(stdout), &report))
	if report.Valid || report.Summary != (shippedSummary{Modules: 2, Loads: 1, Refused: 1}) ||
		report.Kernels[0].File != kernel || report.Modules[1].Outcome != "refused" {
		t.Errorf("%s", stdout)
	}
}
