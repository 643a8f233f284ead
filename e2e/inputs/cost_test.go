package inputs

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// cost is the cost of compiling a kernel with one form of debugging information.
type cost struct {
	objects int
	files   uint64 // the size of the objects and .dwo files, in bytes
	debug   uint64 // how many of these bytes are debugging information and its relocations
	seconds string // elapsed, user and system time of the build
}

// logCosts logs the costs of compiling each kernel, and of converting each of its objects in a
// separate process.
func logCosts(t *testing.T, kernels ...*kernel) {
	t.Log("kernel | seconds of the build: elapsed, user, system | objects, MB |" +
		" of which debugging information | one btfgen per object: processor seconds | BTF objects, MB")
	for _, k := range kernels {
		c := k.cost(t)
		var converted string
		if k.object != "" {
			cpu, size := k.convertEach(t)
			converted = fmt.Sprintf("%.2f | %.1f", cpu.Seconds(), float64(size)/1e6)
		}
		t.Logf("%s | %s | %d, %.1f | %.1f | %s", k.kind, c.seconds, c.objects, float64(c.files)/1e6,
			float64(c.debug)/1e6, converted)
	}
}

// members returns the names of the files in the tree's thin archive vmlinux.a.
func members(t *testing.T, tree string) []string {
	t.Helper()
	return strings.Fields(string(harness.MustRun(t, tree, "ar", "t", "vmlinux.a")))
}

func (k *kernel) cost(t *testing.T) (c cost) {
	t.Helper()
	for _, name := range members(t, k.tree) {
		path := filepath.Join(k.tree, name)
		f := must.Get(elf.Open(path))(t)
		c.objects++
		c.files += fileSize(t, path)
		for _, s := range f.Sections {
			if s.Name == ".BTF" || strings.Contains(s.Name, ".debug_") {
				c.debug += s.FileSize
			}
		}
		f.Close()
		dwo := strings.TrimSuffix(path, ".o") + ".dwo"
		if _, err := os.Stat(dwo); err == nil {
			c.files += fileSize(t, dwo)
			c.debug += fileSize(t, dwo)
		}
	}
	c.seconds = strings.TrimSpace(string(harness.ReadFile(t, filepath.Join(k.tree, "build-seconds"))))
	return c
}

// convertEach converts each object in a separate process, like Bazel's actions. It returns the
// processor time, and the size of all BTF objects.
func (k *kernel) convertEach(t *testing.T) (cpu time.Duration, size uint64) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "btfo")
	for _, name := range members(t, k.tree) {
		argv := append(k.converter(t), "-o", out, name)
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = k.tree
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", name, err, text)
		}
		cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		size += fileSize(t, out)
	}
	return cpu, size
}

func fileSize(t *testing.T, path string) uint64 {
	t.Helper()
	info := must.Get(os.Stat(path))(t)
	return uint64(info.Size())
}
