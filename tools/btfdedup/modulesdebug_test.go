package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// TestModulesOfLinkedBTF: a vmlinux with linked BTF but without DWARF can be passed as --base, but
// not as --vmlinux.
func TestModulesOfLinkedBTF(t *testing.T) {
	dir := t.TempDir()
	_, b := writeBTF(t, dir, "raw", nil, func(b *btf.Builder) {
		b.Int("int", 4, 0, 0)
		b.Datasec(".data..percpu", 4, btf.Secinfo{Type: b.Var("v", 1, btf.LinkageGlobal), Size: 4})
	})
	raw, err := os.ReadFile(filepath.Join(dir, "raw"))
	if err != nil || b == nil {
		t.Fatal(err)
	}
	vmlinux := elfFile(t, filepath.Join(dir, "vmlinux"), false, ".BTF", string(raw))
	kos := compileModules(t, dir, 1)
	run := func(flag string) (int, string) {
		return runVerb("modules", "-q", flag, vmlinux, "-o", filepath.Join(dir, "out"), kos[0])
	}
	if code, errs := run("--vmlinux"); code != 1 || !strings.Contains(errs, vmlinux+
		": it has no DWARF, but BTF that is already linked (section \".data..percpu\" has a size, "+
		"but compilers write 0): pass the file as --base instead of --vmlinux") {
		t.Errorf("--vmlinux: exit code %d: %s", code, errs)
	}
	if code, errs := run("--base"); code != 0 {
		t.Errorf("--base: exit code %d: %s", code, errs)
	}
	linked := filepath.Join(dir, "linked.ko")
	if err := os.Rename(vmlinux, linked); err != nil {
		t.Fatal(err)
	}
	code, errs := runVerb("modules", "-q", "--base", filepath.Join(dir, "raw"), "-o",
		filepath.Join(dir, "out2"), linked)
	if code != 1 || !strings.Contains(errs, "pass the module from the package with debug symbols") {
		t.Errorf("a module without DWARF: exit code %d: %s", code, errs)
	}
}

// TestModulesWithDebugFiles: the debug files of stripped modules are found next to them, unless the
// search is turned off.
func TestModulesWithDebugFiles(t *testing.T) {
	if _, err := exec.LookPath("objcopy"); err != nil {
		t.Skip("SKIPPED:", err)
	}
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	kos := compileModules(t, dir, 4)
	rawBTF(t, p("vmlinux.btf"), "s", 4)
	modules := func(out string, flags ...string) (int, string) {
		return runVerb(append(append([]string{"modules", "-j3", "--base", p("vmlinux.btf"), "-o", p(out)},
			flags...), kos...)...)
	}
	if code, errs := modules("whole", "-q"); code != 0 {
		t.Fatal(errs)
	}
	for _, ko := range kos {
		cmd := exec.Command("sh", "-ec", "objcopy --only-keep-debug $1 $1.debug; "+
			"objcopy --strip-debug --add-gnu-debuglink=$1.debug $1", "sh", ko)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if code, errs := modules("found", "-v"); code != 0 ||
		strings.Count(errs, ".ko.debug") != len(kos) {
		t.Errorf("exit code %d, or a debug file isn't reported: %s", code, errs)
	}
	for _, ko := range kos {
		name := strings.TrimSuffix(filepath.Base(ko), ".ko") + ".btf"
		want, err := os.ReadFile(p("whole/" + name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(p("found/" + name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: the BTF differs from that before it was stripped (%v)", name, err)
		}
	}
	if code, errs := modules("none", "-q", "--debug-dir="); code != 1 ||
		strings.Count(errs, "the DWARF was moved to") != len(kos) {
		t.Errorf("--debug-dir=: exit code %d: %s", code, errs)
	}
}

// TestIntoCompressed: --into reads modules as distributions ship them. The copies have the same
// bytes as copies of modules that are not compressed.
func TestIntoCompressed(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	kos := compileModules(t, dir, 3)
	rawBTF(t, p("vmlinux.btf"), "s", 4)
	write := func(name string, data []byte) {
		t.Helper()
		err := os.MkdirAll(filepath.Dir(p(name)), 0o777)
		if err == nil {
			err = os.WriteFile(p(name), data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, ko := range kos {
		data, err := os.ReadFile(ko)
		if err != nil {
			t.Fatal(err)
		}
		name := "/kernel/" + filepath.Base(ko)
		write("plain"+name, data)
		switch i {
		case 0:
			write("packed"+name+".zst", encoder.EncodeAll(data, nil))
		case 1:
			var b bytes.Buffer
			w := gzip.NewWriter(&b)
			w.Write(data)
			w.Close()
			write("packed"+name+".gz", b.Bytes())
		default:
			write("packed"+name, data)
		}
	}
	modules := func(into, out string, args ...string) (int, string) {
		return runVerb(append([]string{"modules", "--base", p("vmlinux.btf"), "-o", p("btf"), "--embed",
			p(out), "--into", p(into)}, args...)...)
	}
	for _, name := range []string{"plain", "packed"} {
		if code, errs := modules(name, "from_"+name, kos...); code != 0 || errs != "" {
			t.Fatalf("--into %s: exit code %d: %s", name, code, errs)
		}
	}
	for _, ko := range kos {
		name := "/kernel/" + filepath.Base(ko)
		if !sameFiles(t, p("from_plain"+name), p("from_packed"+name)) {
			t.Errorf("%s differs", name)
		}
	}
	write("damaged/m-1.ko.gz", []byte("\x1f\x8b\x08\x00damaged"))
	if code, errs := modules("damaged", "x", kos[0]); code != 1 ||
		!strings.Contains(errs, "m-1.ko.gz (gzip)") || strings.Contains(errs, "\n") {
		t.Errorf("a damaged file: exit code %d: %s", code, errs)
	}
	os.Remove(p("packed/kernel/" + filepath.Base(kos[2])))
	if code, errs := modules("plain", "x", p("packed")); code != 1 ||
		!strings.Contains(errs, "are compressed, so they are not files with DWARF") {
		t.Errorf("compressed modules as arguments: exit code %d: %s", code, errs)
	}
}
