// Package matrix checks a kernel that Kbuild has built with our pahole. It compares the kernel's
// BTF with that of dwarves' pahole, checks the ids in .BTF_ids, boots the kernel, loads its modules
// and runs BPF programs.
package matrix

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/e2e/internal/content"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/e2e/internal/oracle"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func TestMain(m *testing.M) { harness.Main(m) }

// A kernel is a directory in which build-in-root has built a kernel.
type kernel struct {
	dir     string
	arch    string
	modules []string // the modules' file names without ".ko", in the order in which to load them
}

// TestKernel checks the kernel in the directory that MATRIX_DIR names, and writes the result to
// that directory. MATRIX_CELL names the kernel's cell in the matrix.
func TestKernel(t *testing.T) {
	k := kernel{dir: os.Getenv("MATRIX_DIR")}
	if k.dir == "" {
		t.Skip("SKIPPED: no kernel; run e2e/matrix/run")
	}
	cell := os.Getenv("MATRIX_CELL")
	k.arch = "x86_64"
	if strings.HasSuffix(cell, "-arm64") {
		k.arch = "arm64"
	}
	k.modules = k.inOrder(t, strings.Fields(string(harness.ReadFile(t, k.out("modules")))))
	result.compiler = k.compiler(t)

	t.Run("warnings", k.checkLog)
	t.Run("pahole", k.checkTypes)
	t.Run("ids", k.checkIDs)
	t.Run("bpftool", k.checkHeaders)
	t.Run("boot", k.checkBoot)
	t.Run("rebuilt", k.checkRebuilt)
	if !t.Failed() {
		k.writeResult(t, cell)
	}
}

// inOrder sorts modules so that each module follows the modules that it needs.
func (k kernel) inOrder(t *testing.T, names []string) (sorted []string) {
	t.Helper()
	var add func(name string)
	add = func(name string) {
		if slices.Contains(sorted, name) {
			return
		}
		for field := range bytes.SplitSeq(harness.Section(t, k.module(name), ".modinfo"), []byte{0}) {
			if needed, ok := bytes.CutPrefix(field, []byte("depends=")); ok && len(needed) > 0 {
				for other := range strings.SplitSeq(string(needed), ",") {
					add(other)
				}
			}
		}
		sorted = append(sorted, name)
	}
	for _, name := range names {
		add(name)
	}
	return sorted
}

func (k kernel) out(name string) string { return filepath.Join(k.dir, "out", name) }

// linked returns the name of the file from which Kbuild made the kernel's BTF.
func (k kernel) linked(t *testing.T) string {
	t.Helper()
	const before610 = ".tmp_vmlinux.btf"
	if _, err := os.Stat(k.out(before610)); err == nil {
		return before610
	}
	return ".tmp_vmlinux1"
}

func (k kernel) vmlinux() string { return k.out("vmlinux") }

func (k kernel) module(name string) string { return k.out(name + ".ko") }

var compilerText = regexp.MustCompile(`(?m)^CONFIG_CC_VERSION_TEXT="(.*)"$`)

func (k kernel) config(t *testing.T) []byte {
	t.Helper()
	return harness.ReadFile(t, k.out(".config"))
}

func (k kernel) compiler(t *testing.T) string {
	t.Helper()
	m := compilerText.FindSubmatch(k.config(t))
	if m == nil {
		t.Fatal("the configuration doesn't name the compiler")
	}
	return string(m[1])
}

var (
	warning = regexp.MustCompile(`(?i)\bwarn(ing)?\b|\berror\b|^(pahole|btfgen):`)
	// older matches warnings about the configuration and about libbpf in the source of a kernel that
	// is older than the compiler.
	older      = regexp.MustCompile(`^\.config:\d+:warning: override: |^libbpf\.c:`)
	unresolved = regexp.MustCompile(`^WARN: resolve_btfids: unresolved symbol (\S+)$`)
)

func (k kernel) log(t *testing.T) string {
	t.Helper()
	return string(harness.ReadFile(t, filepath.Join(k.dir, "build.log")))
}

// absent returns the names for which resolve_btfids found no type.
func (k kernel) absent(t *testing.T) []string {
	t.Helper()
	var names []string
	for line := range strings.Lines(k.log(t)) {
		if m := unresolved.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			names = append(names, m[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names) // the log may contain several builds
}

// checkLog checks that the compiler, our program and resolve_btfids printed no warnings.
// resolve_btfids may warn about types that pahole's BTF lacks too, because in small kernels
// .BTF_ids names a few types that these kernels don't have.
func (k kernel) checkLog(t *testing.T) {
	steps := map[string]bool{}
	for line := range strings.Lines(k.log(t)) {
		line = strings.TrimSuffix(line, "\n")
		step := strings.HasPrefix(line, "  ") // "  CC      lib/errname.o"
		if warning.MatchString(line) && !step && !unresolved.MatchString(line) &&
			!older.MatchString(line) {
			t.Error(line)
		}
		if strings.HasPrefix(line, "  BTF ") {
			steps[line] = true
		}
	}
	if want := 1 + len(k.modules); len(steps) != want {
		t.Errorf("Kbuild made BTF of %d files, want %d", len(steps), want)
	}
	pahole := must.Get(content.Open(k.calls(k.linked(t)+".pahole.btf"), nil))(t)
	for _, name := range k.absent(t) {
		types, _ := pahole.AnyTypesByName(name)
		for _, typ := range types {
			if _, declared := typ.(*btf.Fwd); !declared { // resolve_btfids ignores FWDs
				t.Errorf("resolve_btfids finds no %s, but pahole's BTF has %v", name, typ)
			}
		}
	}
}

// checkRebuilt checks what build-in-root found when it built the kernel a second time, if it did.
func (k kernel) checkRebuilt(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(k.dir, "rebuilt"))
	if os.IsNotExist(err) {
		t.Skip("SKIPPED: the kernel was built only once")
	}
	must.OK(t, err)
	for line := range strings.Lines(string(text)) {
		how, what, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if what != "the same" {
			t.Errorf("with %s, these files differ: %s", how, what)
		}
		result.rebuilt = append(result.rebuilt, how)
	}
}

// checkHeaders compiles the headers that bpftool makes from the BTF of the kernel and each module.
func (k kernel) checkHeaders(t *testing.T) {
	oracle.Compiles(t, oracle.Blob{Path: k.vmlinux()})
	for _, name := range k.modules {
		oracle.Compiles(t, oracle.Blob{Path: k.module(name), Bases: []string{k.vmlinux()}})
	}
	fmt.Println(len(k.modules), "modules")
}
