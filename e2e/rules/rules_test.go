// Package rules builds edited copies of examples/hello. It checks properties of the rules that
// analysis tests can't show.
package rules

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

func newWorkspace(t *testing.T) *harness.Workspace {
	t.Helper()
	return harness.NewWorkspace(t, filepath.Join(harness.Repo(), "examples/hello"), "gcc")
}

// action is an action that "bazel aquery" prints.
type action struct {
	Mnemonic, ActionKey string
	Arguments           []string
	ExecutionInfo       []struct{ Key, Value string }
}

// actions returns the actions that a query finds.
func actions(w *harness.Workspace, flags, query string) []action {
	w.Helper()
	var graph struct{ Actions []action }
	printed := w.Shell("bazel aquery " + flags + " --output=jsonproto '" + query + "' 2>log || " +
		"{ cat log; false; }")
	if err := json.Unmarshal([]byte(printed), &graph); err != nil {
		w.Fatalf("aquery: %v\n%s", err, printed)
	}
	return graph.Actions
}

// TestEachObjectOnce checks that each object in a diamond of libraries is converted once, in groups
// or one by one, and that all our actions support path mapping.
func TestEachObjectOnce(t *testing.T) {
	w := newWorkspace(t)
	for _, flags := range []string{"-c fastbuild", "-c opt", "--@rules_btf//rules/settings:grain=1"} {
		converted := map[string]int{}
		for _, a := range actions(w, flags,
			`mnemonic("Btf.*", deps(//:vmlinux_btf + //:disk_btf + //:raid_btf))`) {
			mapped := false
			for _, info := range a.ExecutionInfo {
				mapped = mapped || info.Key == "supports-path-mapping"
			}
			if !mapped {
				t.Errorf("%s: %s doesn't support path mapping", flags, a.Mnemonic)
			}
			if a.Mnemonic != "BtfGen" {
				continue
			}
			for _, arg := range a.Arguments {
				if strings.HasSuffix(arg, ".o") {
					converted[filepath.Base(arg)]++
				}
			}
		}
		if len(converted) != 7 {
			t.Errorf("%s: converted %v, want 7 objects", flags, converted)
		}
		for object, times := range converted {
			if times != 1 {
				t.Errorf("%s: %s was converted %d times", flags, object, times)
			}
			if pic := strings.HasSuffix(object, ".pic.o"); pic == (flags == "-c opt") {
				t.Errorf("%s: converted %s", flags, object)
			}
		}
	}
}

// TestFailures checks that an error is reported for the target and file in which it occurs.
func TestFailures(t *testing.T) {
	w := newWorkspace(t)
	w.Write("BUILD.bazel", `
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
	w.Write("bare.c", "int bare(void) { return 0; }\n")
	w.Write("server.c", "struct server { int port; } server;\n")
	w.Shell("bazel build //:kept_objects")
	for _, test := range []struct {
		command string
		want    []string
	}{
		{"bazel build //:bare_objects", []string{"bare.pic.o", "DWARF"}},
		{"bazel build //:server_objects", []string{"for //:bare failed", "bare.pic.o", "exclude"}},
		{"bazel test --test_output=errors //:different_test", []string{"raid"}},
	} {
		printed, exit := w.Try(test.command)
		if exit == 0 {
			t.Errorf("%s succeeded", test.command)
		}
		for _, want := range test.want {
			if !strings.Contains(printed, want) {
				t.Errorf("%s: no %q in\n%s", test.command, want, printed)
			}
		}
	}
}

// TestAspect: the aspect on the command line makes the BTF objects of a target and of all targets
// below it, without a target of the rules.
func TestAspect(t *testing.T) {
	w := newWorkspace(t)
	w.Write("plain/BUILD.bazel", `
load("@rules_cc//cc:cc_binary.bzl", "cc_binary")
load("@rules_cc//cc:cc_library.bzl", "cc_library")
load("@rules_btf//rules:defs.bzl", "cc_btf", "vmlinux_btf")
cc_library(name = "below", srcs = ["below.c"])
cc_library(name = "headers", hdrs = ["h.h"])
cc_binary(name = "server", srcs = ["server.c"], deps = [":below", ":headers"])
cc_btf(name = "server_objects", deps = [":server"])
vmlinux_btf(name = "server_btf", srcs = [":server_objects"])
`)
	w.Write("plain/below.c", "struct below { int i; } below;")
	w.Write("plain/h.h", "")
	w.Write("plain/server.c", "struct server { int i; } server; int main(void) { return 0; }")
	for _, c := range []struct{ target, want string }{ // the directories of all BTF objects so far
		{"headers", ""},
		{"server.c", ""},
		{"below", "below"},
		{"server_btf", "below server"}, // on the way is a cc_btf, which has this output group too
		{"all", "below server"},
	} {
		w.Shell("bazel build --aspects=@rules_btf//rules:defs.bzl%btf_cc_aspect " +
			"--output_groups=btf_objects //plain:" + c.target)
		got := strings.Fields(w.Shell("(find bazel-bin/plain/_btf -name '*.btfo' -printf '%P\\n' " +
			"2>/dev/null || true) | cut -d/ -f1 | sort -u"))
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: BTF objects of %q, want %q", c.target, got, c.want)
		}
	}
}
