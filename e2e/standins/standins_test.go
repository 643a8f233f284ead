// Package standins makes BTF in workspaces that use other projects' rules for kernels, as
// docs/kernel.md shows. Those projects can't be built here. So each workspace has a stand-in for
// the other project's module: a module with the same labels, whose actions run the same command
// lines. The file recorded.txt lists them, and says where we read them.
package standins

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/repro/execlog"
)

func TestMain(m *testing.M) { harness.Main(m) }

// workspace is a copy of one of the workspaces in this directory.
type workspace struct {
	*harness.Workspace
	kernel  string // the tree of the kernel that e2e/linux builds
	from    string // the directory of which the workspace is a copy
	startup string // startup options of Bazel
}

// newWorkspace copies the workspace with this name, and adds an archive of our programs, like the
// archives in a release.
func newWorkspace(t *testing.T, name string, programs ...string) *workspace {
	kernel := harness.Kernel(t)
	from := filepath.Join(harness.Repo(), "e2e/standins", name)
	w := harness.NewWorkspaceWithoutTools(t, from, programs...)
	tools := []string{"btfcore", "btfdedup", "btfgen", "btfkbuild", "btfrepro", "pahole"}
	argv := []string{"tar", "-C", filepath.Dir(harness.Tool(t, "pahole")), "-I", "gzip -1", "-cf",
		filepath.Join(w.Dir, "tools.tar.gz")}
	harness.MustRun(t, "", append(argv, tools...)...)
	return &workspace{Workspace: w, kernel: kernel, from: from}
}

// build builds targets, and returns the actions that ran. None of them may have built Go code.
func (w *workspace) build(targets string) []execlog.Spawn {
	w.Helper()
	path := filepath.Join(w.TempDir(), "log")
	w.Shell("bazel " + w.startup + " build --execution_log_compact_file=" + path + " " + targets)
	log, err := execlog.ReadFile(path)
	if err != nil {
		w.Fatal(err)
	}
	for _, s := range log.Spawns {
		if strings.HasPrefix(s.Mnemonic, "Go") {
			w.Errorf("ran %s %s", s.Mnemonic, s.Label)
		}
	}
	return log.Spawns
}

// bazel runs a Bazel command, and returns what it prints on standard output.
func (w *workspace) bazel(command string) string {
	w.Helper()
	return w.Shell("bazel " + w.startup + " " + command + " 2>/dev/null")
}

// outputs returns the output files of a target, by their base names.
func (w *workspace) outputs(target string) map[string]string {
	w.Helper()
	files := map[string]string{}
	for path := range strings.FieldsSeq(w.bazel("cquery --output=files '" + target + "'")) {
		files[filepath.Base(path)] = filepath.Join(w.Dir, path)
	}
	return files
}

// output returns the only output file of a target.
func (w *workspace) output(target string) string {
	w.Helper()
	files := w.outputs(target)
	if len(files) != 1 {
		w.Fatalf("%s: its outputs are %v, want one file", target, files)
	}
	return slices.Collect(maps.Values(files))[0]
}

// recorded checks that recorded.txt and the stand-in have the same lines.
func (w *workspace) recorded(standin []string) {
	w.Helper()
	var want []string
	for line := range strings.Lines(string(harness.ReadFile(w, filepath.Join(w.from,
		"recorded.txt")))) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			want = append(want, line)
		}
	}
	for _, line := range want {
		if !slices.Contains(standin, line) {
			w.Errorf("recorded.txt has a line that isn't true of the stand-in: %s", line)
		}
	}
	for _, line := range standin {
		if !slices.Contains(want, line) {
			w.Errorf("recorded.txt lacks the stand-in's line: %s", line)
		}
	}
}

var directories = regexp.MustCompile(`[\w.+~-]*(/[\w.+~-]+)*/`)

// command returns the mnemonic and the command line of an action, without directories in paths.
func command(s execlog.Spawn) string {
	words := []string{s.Mnemonic}
	for _, word := range s.Args {
		words = append(words, directories.ReplaceAllString(word, ""))
	}
	return strings.Join(words, " ")
}

// same checks that two BTF files have the same bytes, and that there are some.
func (w *workspace) same(what string, got, want []byte) {
	w.Helper()
	if len(got) == 0 || !bytes.Equal(got, want) {
		w.Errorf("%s: %d bytes of BTF differ from the %d bytes wanted", what, len(got), len(want))
	}
}

// section returns the content of the section .BTF of an ELF file.
func (w *workspace) section(path string) []byte {
	w.Helper()
	return harness.Section(w, path, ".BTF")
}

// elf returns the BTF that "btfgen elf" makes of a file.
func (w *workspace) elf(file string, options ...string) []byte {
	w.Helper()
	out := filepath.Join(w.TempDir(), "elf.btf")
	argv := append([]string{harness.Tool(w, "btfgen"), "elf", "-o", out, file}, options...)
	harness.MustRun(w, "", argv...)
	return harness.ReadFile(w, out)
}

// kernelModules returns the paths of the kernel's modules in its tree.
func (w *workspace) kernelModules() []string {
	w.Helper()
	var paths []string
	order := harness.ReadFile(w, filepath.Join(w.kernel, "modules.order"))
	for line := range strings.FieldsSeq(string(order)) {
		paths = append(paths, strings.TrimSuffix(line, ".o")+".ko")
	}
	if len(paths) == 0 {
		w.Fatal("the kernel has no modules")
	}
	return paths
}

// TestVersion checks that the module pahole depends on the version of rules_btf in this checkout.
func TestVersion(t *testing.T) {
	read := func(path, pattern string) string {
		text := harness.ReadFile(t, filepath.Join(harness.Repo(), path))
		m := regexp.MustCompile(pattern).FindSubmatch(text)
		if m == nil {
			t.Fatalf("%s: nothing matches %s", path, pattern)
		}
		return string(m[1])
	}
	want := read("MODULE.bazel", `(?s)^.*?module\(.*?version = "(.*?)"`)
	if got := read("pahole/MODULE.bazel", `"rules_btf", version = "(.*?)"`); got != want {
		t.Errorf("pahole/MODULE.bazel depends on rules_btf %s; change it to %s", got, want)
	}
}

// copyFile copies a file to the workspace.
func (w *workspace) copyFile(from, to string) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(w.Dir, to), harness.ReadFile(w, from), 0o666); err != nil {
		w.Fatal(err)
	}
}
