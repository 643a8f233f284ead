// Package programtest helps tests that write files and run compilers and other programs on them.
package programtest

import (
	"compress/gzip"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// Bounded calls f, whose input has size bytes. It is an error if the call takes longer than most,
// or if it allocates more than memory bytes; 0 means any number.
func Bounded(t testing.TB, size int, most time.Duration, memory uint64, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	f()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if took > most {
		t.Errorf("%d bytes of input took %v", size, took)
	}
	if n := after.TotalAlloc - before.TotalAlloc; memory != 0 && n > memory {
		t.Errorf("for %d bytes of input, %d bytes were allocated", size, n)
	}
}

// Seeds ranges over the paths of the files that match a pattern, and over their contents, unpacked
// if the name ends in ".gz". There must be such files.
func Seeds(t testing.TB, pattern string) iter.Seq2[string, []byte] {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	return func(yield func(string, []byte) bool) {
		for _, path := range paths {
			data := must.Get(os.ReadFile(path))(t)
			if strings.HasSuffix(path, ".gz") {
				data = Gunzip(t, path)
			}
			if !yield(path, data) {
				return
			}
		}
	}
}

// Need skips the test if one of the programs is not installed.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			skip(t, name)
		}
	}
}

func skip(t testing.TB, missing string) {
	t.Helper()
	t.Skipf("SKIPPED: %s isn't on PATH (./bazelw --root-exec has it)", missing)
}

// gccVersion returns the major version of gcc, or 0.
var gccVersion = sync.OnceValue(func() int {
	out, _ := exec.Command("gcc", "-dumpversion").Output()
	version, _, _ := strings.Cut(strings.TrimSpace(string(out)), ".")
	n, _ := strconv.Atoi(version)
	return n
})

// NeedGCC16 skips the test if there is no gcc 16 or later, whose BTF can be read.
func NeedGCC16(t testing.TB) {
	t.Helper()
	Need(t, "gcc")
	if gccVersion() < 16 {
		skip(t, "gcc 16")
	}
}

// Run runs a program in dir and returns its output. It skips the test if there is no such program,
// or if the program is a shell whose script can't find one.
func Run(t testing.TB, dir, program string, args ...string) string {
	t.Helper()
	Need(t, program)
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if program == "sh" && err != nil && cmd.ProcessState.ExitCode() == 127 {
		words := strings.Split(string(out), ": ") // sh: 1: gcc: not found
		skip(t, words[max(0, len(words)-2)])
	}
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Shell runs a script in dir, until a command fails.
func Shell(t testing.TB, dir, script string) {
	t.Helper()
	Run(t, dir, "sh", "-ec", script)
}

// Compile compiles a C source with a compiler and its flags, and returns the path of the output. It
// skips the test if there is no such compiler.
func Compile(t testing.TB, source, compiler string, flags ...string) string {
	t.Helper()
	dir := NewDir(t)
	dir.Write("x.c", source)
	dir.Run(compiler, append([]string{"-o", "x.o", "x.c"}, flags...)...)
	return dir.Path("x.o")
}

// Dir is a directory with the files that a test makes.
type Dir struct {
	testing.TB
	dir string
}

// NewDir makes an empty Dir.
func NewDir(t testing.TB) Dir { return Dir{t, t.TempDir()} }

// Path returns the path of a file in the directory.
func (d Dir) Path(name string) string { return filepath.Join(d.dir, name) }

// Write writes a file, and makes the directories above it.
func (d Dir) Write(name, content string) {
	d.Helper()
	if err := os.MkdirAll(filepath.Dir(d.Path(name)), 0o777); err != nil {
		d.Fatal(err)
	}
	if err := os.WriteFile(d.Path(name), []byte(content), 0o666); err != nil {
		d.Fatal(err)
	}
}

// Run runs a program in the directory, like the function Run.
func (d Dir) Run(program string, args ...string) {
	d.Helper()
	Run(d.TB, d.dir, program, args...)
}

// Gunzip returns the content of a compressed file.
func Gunzip(t testing.TB, path string) []byte {
	t.Helper()
	file := must.Get(os.Open(path))(t)
	defer file.Close()
	z := must.Get(gzip.NewReader(file))(t)
	data := must.Get(io.ReadAll(z))(t)
	return data
}

// moduleSource is the source of a module that shares struct s with the kernel, and has an own type.
const moduleSource = `
struct s { int i; };
struct own_%[1]d { struct s s; char name[%[1]d]; };
struct own_%[1]d own;
int use_%[1]d(struct own_%[1]d *o, struct s *s) { return o->s.i + s->i; }
`

// Modules writes the modules m-1.ko to m-N.ko with DWARF to a directory, and returns their paths.
// The code in more is added to each of them.
func Modules(t testing.TB, dir string, n int, more ...string) (paths []string) {
	t.Helper()
	Need(t, "gcc")
	for i := 1; i <= n; i++ {
		source, path := filepath.Join(dir, "m.c"), filepath.Join(dir, fmt.Sprintf("m-%d.ko", i))
		text := fmt.Sprintf(moduleSource, i) + strings.Join(more, "")
		must.OK(t, os.WriteFile(source, []byte(text), 0o666))
		Run(t, "", "gcc", "-g", "-O2", "-c", "-o", path, source)
		paths = append(paths, path)
		os.Remove(source)
	}
	return paths
}

// Kernel links objects, such as modules, to a kernel at path.
func Kernel(t testing.TB, path string, objects ...string) string {
	t.Helper()
	Run(t, "", "gcc", append(objects, "-nostdlib", "-static", "-Wl,-e,0", "-o", path)...)
	return path
}
