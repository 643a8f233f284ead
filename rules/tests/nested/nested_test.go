// Package nested tests the rules by building with them: a copy of examples/hello, edited, in a
// Bazel of its own.
//
// It takes minutes when Bazel has to build the tools first, so it runs only when asked:
// RULES_BTF_NESTED=1 go test ./rules/tests/nested
package nested

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// A workspace is a copy of the example that a test may edit.
type workspace struct {
	t    *testing.T
	dir  string
	repo string
}

func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	if os.Getenv("RULES_BTF_NESTED") == "" {
		t.Skip("builds with Bazel; set RULES_BTF_NESTED=1 to run")
	}
	repo, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	w := &workspace{t: t, dir: t.TempDir(), repo: repo}
	example := filepath.Join(repo, "examples/hello")
	for _, pattern := range []string{"*", ".bazel*", "*/*"} {
		paths, _ := filepath.Glob(filepath.Join(example, pattern))
		for _, path := range paths {
			inside, _ := filepath.Rel(example, path)
			info, err := os.Lstat(path)
			if err != nil || !info.Mode().IsRegular() || strings.HasPrefix(inside, "bazel-") {
				continue
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			w.write(inside, string(data))
		}
	}
	w.edit("MODULE.bazel", `"../.."`, `"`+repo+`"`)
	t.Cleanup(func() { _, _ = w.bazel("shutdown") })
	return w
}

func (w *workspace) write(path, text string) {
	w.t.Helper()
	path = filepath.Join(w.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *workspace) edit(path, from, to string) {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, path))
	if err != nil {
		w.t.Fatal(err)
	}
	if strings.Count(string(data), from) != 1 {
		w.t.Fatalf("%s: %q isn't there exactly once", path, from)
	}
	w.write(path, strings.Replace(string(data), from, to, 1))
}

// bazel runs a command and returns what it printed, standard output only where it succeeds.
func (w *workspace) bazel(command string, args ...string) (string, error) {
	cmd := exec.Command(filepath.Join(w.repo, "bazelw"), append([]string{command}, args...)...)
	cmd.Dir = w.dir
	output, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return string(output) + string(exit.Stderr), err
	}
	return string(output), err
}

// built builds targets and returns the actions that ran, as "mnemonic output", sorted; those found
// in the local action cache aren't in it.
func (w *workspace) built(targets ...string) []string {
	w.t.Helper()
	log := filepath.Join(w.t.TempDir(), "log.json")
	output, err := w.bazel("build", append([]string{"--jobs=2", "--execution_log_json_file=" + log},
		targets...)...)
	if err != nil {
		w.t.Fatalf("build: %v\n%s", err, output)
	}
	file, err := os.Open(log)
	if err != nil {
		w.t.Fatal(err)
	}
	defer file.Close()
	var ran []string
	for decoder := json.NewDecoder(file); ; {
		var spawn struct {
			Mnemonic      string
			ListedOutputs []string
		}
		if err := decoder.Decode(&spawn); err == io.EOF {
			break
		} else if err != nil {
			w.t.Fatal(err)
		}
		if strings.HasPrefix(spawn.Mnemonic, "Btf") {
			ran = append(ran, spawn.Mnemonic+" "+filepath.Base(spawn.ListedOutputs[0]))
		}
	}
	sort.Strings(ran)
	return ran
}

func (w *workspace) expect(change string, want ...string) {
	w.t.Helper()
	got := w.built("//:vmlinux_btf", "//:disk_btf", "//:raid_btf")
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		w.t.Errorf("%s: ran\n  %s\nwant\n  %s", change, strings.Join(got, "\n  "),
			strings.Join(want, "\n  "))
	}
}

// TestEdits checks how far an edit's work reaches.
func TestEdits(t *testing.T) {
	w := newWorkspace(t)
	w.expect("first build",
		"BtfFacts disk_btf.facts", "BtfFacts raid_btf.facts", "BtfFacts vmlinux_btf.facts",
		"BtfGen disk.pic.o.btfo", "BtfGen geometry.pic.o.btfo", "BtfGen list.pic.o.btfo",
		"BtfGen main.pic.o.btfo", "BtfGen raid.pic.o.btfo", "BtfGen sched.pic.o.btfo",
		"BtfGen string.pic.o.btfo",
		"BtfLink disk_btf.btf", "BtfLink raid_btf.btf", "BtfLink vmlinux_btf.btf",
		"BtfMerge merge.btfo", "BtfMerge merge.btfo")

	w.edit("lib/string.c", "u64 length = 0;", "u64 length = 0; void ***unused; (void)unused;")
	w.expect("a body", "BtfFacts vmlinux_btf.facts", "BtfGen string.pic.o.btfo")

	w.edit("drivers/raid.c", "u32 count;", "u32 count, spares;")
	w.expect("a type of one module", "BtfFacts raid_btf.facts", "BtfGen raid.pic.o.btfo",
		"BtfLink raid_btf.btf")
}

// TestEachObjectOnce checks that a diamond of libraries converts each object once, and that all our
// actions take part in path mapping.
func TestEachObjectOnce(t *testing.T) {
	w := newWorkspace(t)
	for _, mode := range []string{"fastbuild", "opt"} {
		output, err := w.bazel("aquery", "-c", mode, "--output=jsonproto",
			`mnemonic("Btf.*", deps(//:vmlinux_btf + //:disk_btf + //:raid_btf))`)
		if err != nil {
			t.Fatalf("aquery: %v\n%s", err, output)
		}
		var graph struct {
			Actions []struct {
				Mnemonic      string
				Arguments     []string
				ExecutionInfo []struct{ Key, Value string }
			}
		}
		if err := json.Unmarshal([]byte(output), &graph); err != nil {
			t.Fatal(err)
		}
		converted := map[string]int{}
		for _, action := range graph.Actions {
			mapped := false
			for _, info := range action.ExecutionInfo {
				mapped = mapped || info.Key == "supports-path-mapping"
			}
			if !mapped {
				t.Errorf("%s: %s doesn't take part in path mapping", mode, action.Mnemonic)
			}
			if action.Mnemonic == "BtfGen" {
				object := filepath.Base(action.Arguments[len(action.Arguments)-1])
				converted[object]++
				if pic := strings.HasSuffix(object, ".pic.o"); pic != (mode == "fastbuild") {
					t.Errorf("%s: converted %s", mode, object)
				}
			}
		}
		if len(converted) != 7 {
			t.Errorf("%s: converted %v, want 7 objects", mode, converted)
		}
		for object, times := range converted {
			if times != 1 {
				t.Errorf("%s: %s converted %d times", mode, object, times)
			}
		}
	}
}

// TestFailures checks that what goes wrong is said where it goes wrong.
func TestFailures(t *testing.T) {
	w := newWorkspace(t)
	w.write("BUILD.bazel", `
load("@rules_btf//rules:defs.bzl", "btf_diff_test", "cc_btf", "vmlinux_btf")
load("@rules_cc//cc:cc_library.bzl", "cc_library")
cc_library(name = "bare", srcs = ["bare.c"], copts = ["-g0"])
cc_btf(name = "bare_objects", deps = [":bare"])
cc_library(name = "server", srcs = ["server.c"], copts = ["-g"], deps = [":bare"])
cc_btf(name = "server_objects", deps = [":server"])
cc_btf(name = "kept_objects", deps = [":server"], exclude = [":bare"])
cc_btf(name = "list_objects", deps = ["//lib:list"])
cc_btf(name = "raid_objects", deps = ["//drivers:raid"])
vmlinux_btf(name = "list_btf", srcs = [":list_objects"])
vmlinux_btf(name = "raid_btf", srcs = [":raid_objects"])
btf_diff_test(name = "different_test", actual = ":raid_btf", expected = ":list_btf")
`)
	w.write("bare.c", "int bare(void) { return 0; }\n")
	w.write("server.c", "struct server { int port; } server;\n")
	w.built("//:kept_objects")
	for _, test := range []struct {
		command, target string
		want            []string
	}{
		{"build", "//:bare_objects", []string{"bare.pic.o", "DWARF"}},
		{"build", "//:server_objects", []string{"for //:bare failed", "bare.pic.o", "exclude"}},
		{"test", "//:different_test", []string{"raid"}},
	} {
		output, err := w.bazel(test.command, "--jobs=2", "--test_output=errors", test.target)
		if err == nil {
			t.Errorf("%s %s succeeded", test.command, test.target)
		}
		for _, want := range test.want {
			if !strings.Contains(output, want) {
				t.Errorf("%s %s: no %q in\n%s", test.command, test.target, want, output)
			}
		}
	}
}
