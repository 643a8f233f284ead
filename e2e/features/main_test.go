package features

import (
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// program compiles and links a C program without a C library, and returns the program's path.
func program(t *testing.T, source string, flags ...string) string {
	t.Helper()
	harness.Need(t, "gcc")
	dir := t.TempDir()
	harness.WriteFile(t, filepath.Join(dir, "program.c"), source)
	argv := append([]string{"gcc", "-g", "-O1", "-w", "-nostdlib", "-static", "-Wl,-e,0", "-o",
		"program", "program.c"}, flags...)
	harness.MustRun(t, dir, argv...)
	return filepath.Join(dir, "program")
}

// tool runs btfgen or btfdedup, which must succeed, and returns its output.
func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	return harness.MustRun(t, "", append([]string{harness.Tool(t, name)}, args...)...)
}

// beside returns the path of a file with the given name in the directory that contains path.
func beside(path, name string) string { return filepath.Join(filepath.Dir(path), name) }
