package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestMadeLine: modules ends with one line, which doesn't appear with --quiet or in an action of
// Bazel.
func TestMadeLine(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	kos := programtest.Modules(t, dir, 3)
	programtest.Kernel(t, "vmlinux", kos[2])
	kernelBTF(t, "base.btf")
	writeFile(t, "text.ko", "")
	for _, c := range []struct {
		args string
		want string // "" for no line
		code int
	}{
		{"--base base.btf -o OUT/a --skipped-dir OUT/c m-1.ko m-2.ko", "2 modules in OUT/a", 0},
		{"vmlinux -o OUT/a m-1.ko", "vmlinux and 1 module in OUT/a", 0},
		{"vmlinux -o OUT/a", "vmlinux and 0 modules in OUT/a", 0},
		{"--base base.btf -o OUT/a m-1.ko text.ko", "1 of 2 modules in OUT/a", 1},
		{"--base base.btf -o OUT/a text.ko", "", 1},
	} {
		os.RemoveAll("OUT")
		args := append([]string{"modules"}, strings.Fields(c.args)...)
		code, _, stderr := btfgen(args...)
		got := ""
		if m := madeLine.FindStringSubmatch(stderr); m != nil {
			got = m[1]
		}
		if code != c.code || got != c.want || code == 0 && strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d, the line is about %q, want %q\n%s", c.args, code, got, c.want,
				stderr)
		}
		if c.code != 0 {
			continue
		}
		t.Setenv("RULES_BTF_ACTION", "1")
		for _, more := range []string{"-j1", "--quiet"} {
			if _, _, stderr := btfgen(append(args, more)...); madeLine.MatchString(stderr) {
				t.Errorf("%s %s: %s", c.args, more, stderr)
			}
			os.Unsetenv("RULES_BTF_ACTION")
		}
	}
}

// manyModules writes n modules with the same content, and a base.
func manyModules(t *testing.T, dir string, n int) (base, modules string) {
	t.Helper()
	ko, base := programtest.Modules(t, dir, 1)[0], filepath.Join(dir, "base.btf")
	kernelBTF(t, base)
	modules = filepath.Join(dir, "modules")
	must.OK(t, os.Mkdir(modules, 0o777))
	for i := range n {
		must.OK(t, os.Link(ko, filepath.Join(modules, fmt.Sprintf("m%d.ko", i))))
	}
	return base, modules
}

// whole checks that each file in a directory has the same content, and that there is a number of
// them.
func whole(t *testing.T, dir string, count int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != count {
		t.Errorf("%d files are complete, want %d; %v", len(entries), count, err)
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".btf" {
			t.Errorf("%s is left", e.Name())
		}
		if !bytes.Equal(read(t, filepath.Join(dir, entries[0].Name())),
			read(t, filepath.Join(dir, e.Name()))) {
			t.Errorf("%s is not whole", e.Name())
		}
	}
}

// TestDiskFull fills a small file system with the BTF of modules.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	const n = 200
	base, modules := manyModules(t, dir, n)
	small := filepath.Join(dir, "small")
	must.OK(t, os.Mkdir(small, 0o777))
	if err := unix.Mount("none", small, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("SKIPPED: needs root, to mount a file system: %v", err)
	}
	defer unix.Unmount(small, unix.MNT_DETACH)
	for _, jobs := range []string{"-j1", "-j4"} {
		out := filepath.Join(small, "out")
		code, _, stderr := btfgen("modules", jobs, "--base", base, "-o", out, modules)
		m := regexp.MustCompile(`^btfgen: modules: \d+ of 200 modules in .*\nbtfgen: output: write .*/out/m\d+\.btf: no space left on device; ` +
			`(\d+) of 200 modules are complete: free some space, then run the same command again\n$`).
			FindStringSubmatch(stderr)
		if code != 1 || m == nil {
			t.Fatalf("%s: exit code %d: %s", jobs, code, stderr)
		}
		count, _ := strconv.Atoi(m[1])
		if count == 0 || count == n {
			t.Errorf("%s: %s", jobs, stderr)
		}
		whole(t, out, count)
		must.OK(t, os.RemoveAll(out))
	}
	if left, _ := os.ReadDir(small); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestInterruptedBatch interrupts a process that makes the BTF of many modules.
func TestInterruptedBatch(t *testing.T) {
	if dir := os.Getenv("BTFGEN_TEST_DIR"); dir != "" {
		os.Args = []string{"btfgen", "modules", "-q", "-j2", "--base", filepath.Join(dir, "base.btf"),
			"-o", filepath.Join(dir, "out"), filepath.Join(dir, "modules")}
		cli.Main(program)
	}
	dir := t.TempDir()
	const n = 5000
	manyModules(t, dir, n)
	out := filepath.Join(dir, "out")
	cmd := exec.Command(os.Args[0], "-test.run=^TestInterruptedBatch$")
	cmd.Env = append(os.Environ(), "BTFGEN_TEST_DIR="+dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	must.OK(t, cmd.Start())
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if made, _ := filepath.Glob(filepath.Join(out, "m*.btf")); len(made) > 10 {
			break
		}
	}
	cmd.Process.Signal(syscall.SIGINT)
	cmd.Wait()
	m := regexp.MustCompile(`^btfgen: interrupted: (\d+) of 5000 modules are complete: ` +
		`run the same command again\n$`).FindStringSubmatch(stderr.String())
	if code := cmd.ProcessState.ExitCode(); code != 128+int(syscall.SIGINT) || m == nil {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	// A few more modules may have become complete after the process wrote its message.
	made, _ := filepath.Glob(filepath.Join(out, "*"))
	if count, _ := strconv.Atoi(m[1]); count == 0 || len(made) < count {
		t.Errorf("%d files; %s", len(made), stderr.String())
	}
	whole(t, out, len(made))
}
