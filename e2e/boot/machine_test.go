package boot

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/e2e/boot/report"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// programsDir is where the guest has its programs of BPF.
const programsDir = "/bpf"

// compilePrograms compiles the programs of BPF in testdata, with headers that bpftool makes from
// our BTF of the modules.
func compilePrograms(t *testing.T, dir, image, vmlinuxBTF string) {
	t.Helper()
	headers := filepath.Join(dir, "include")
	for program, module := range programs {
		harness.WriteFile(t, filepath.Join(headers, module+".h"), harness.MustRun(t, "",
			"bpftool", "--base-btf", vmlinuxBTF, "btf", "dump", "file", btfOf(dir, module),
			"format", "c"))
		out := filepath.Join(image, programsDir, program+".bpf.o")
		if err := os.MkdirAll(filepath.Dir(out), 0o777); err != nil {
			t.Fatal(err)
		}
		harness.MustRun(t, "", "clang", "--target=bpf", "-mcpu=v3", "-D__TARGET_ARCH_x86",
			"-O2", "-g", "-Wall", "-Werror", "-fms-extensions", "-Wno-microsoft-anon-tag",
			"-I", headers, "-o", out, "-c", filepath.Join("testdata", program+".bpf.c"))
	}
}

// boot runs the kernel in QEMU with image as its root, and returns what the guest reported.
func (k kernel) boot(t *testing.T, dir, image string) []report.Line {
	t.Helper()
	harness.Command{
		Argv: []string{"go", "build", "-o", filepath.Join(image, "init"), "./guest"},
		Env:  []string{"CGO_ENABLED=0", "GOARCH=amd64"},
	}.Must(t)
	initrd := filepath.Join(dir, "initrd")
	harness.MustRun(t, image, "sh", "-c",
		`find . | LC_ALL=C sort | cpio --quiet -o -H newc >"$0"`, initrd)

	console, lines := filepath.Join(dir, "console"), filepath.Join(dir, "report")
	r, err := harness.Command{
		Argv: []string{filepath.Join(k.dir, "qemu/run"), "-nodefaults", "-no-user-config",
			"-no-reboot", "-display", "none", "-accel", "tcg,thread=multi", "-cpu", "max,la57=off",
			"-smp", "2", "-m", "1536", "-serial", "file:" + console, "-serial", "file:" + lines,
			"-kernel", filepath.Join(k.dir, "vmlinuz"), "-initrd", initrd,
			"-append", "console=ttyS0 quiet panic=-1 log_buf_len=4M"},
		Timeout: 20 * time.Minute, // it takes one, on a machine that has nothing else to do
	}.Run()
	if err != nil || r.Exit != 0 {
		t.Fatalf("QEMU: exit %d, timed out %v, %v\n%s\nconsole:\n%s",
			r.Exit, r.TimedOut, err, r.Stderr, harness.ReadFile(t, console))
	}
	return decode(t, harness.ReadFile(t, lines), harness.ReadFile(t, console))
}

// decode reads the guest's report.
func decode(t *testing.T, text, console []byte) []report.Line {
	t.Helper()
	var lines []report.Line
	for line := range bytes.Lines(text) {
		var l report.Line
		if err := json.Unmarshal(line, &l); err != nil {
			t.Errorf("the guest reports %q: %v", line, err)
			continue
		}
		lines = append(lines, l)
	}
	if len(lines) == 0 || lines[len(lines)-1].End == nil {
		t.Fatalf("the guest stopped after %d lines; its console:\n%s", len(lines), console)
	}
	return lines
}
