package nested

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVariants makes the BTF of one kernel in several ways in one build: by attributes, and by a
// transition that sets a flag. The tools are built once.
func TestVariants(t *testing.T) {
	w := newWorkspace(t)
	w.write("variant.bzl", `
def _impl(_settings, _attr):
    return {"@rules_btf//rules/settings:btf_features": ["default", "global_var"]}

_variables = transition(
    implementation = _impl,
    inputs = [],
    outputs = ["@rules_btf//rules/settings:btf_features"],
)

def _files_impl(ctx):
    return [DefaultInfo(files = depset(ctx.files.of))]

with_variables = rule(
    implementation = _files_impl,
    attrs = {"of": attr.label(cfg = _variables)},
)
`)
	w.write("BUILD.bazel", `
load("@rules_btf//rules:defs.bzl", "cc_btf", "vmlinux_btf")
load(":variant.bzl", "with_variables")

[
    [
        cc_btf(name = "objects" + suffix, btf_features = features, deps = ["//kernel:vmlinux"]),
        vmlinux_btf(
            name = "vmlinux_btf" + suffix,
            srcs = [":objects" + suffix],
            out = "vmlinux%s.btf" % suffix,
            vmlinux = "//kernel:vmlinux",
        ),
    ]
    for suffix, features in {"": [], "_variables": ["default", "global_var"]}.items()
]

with_variables(name = "by_flag", of = ":vmlinux_btf")
`)
	const targets = "//:vmlinux_btf //:vmlinux_btf_variables //:by_flag"
	output, err := w.bazel("aquery", "--output=jsonproto",
		`mnemonic("GoLink", deps(set(`+targets+`)))`)
	if err != nil {
		t.Fatalf("aquery: %v\n%s", err, output)
	}
	var graph struct {
		Actions []struct{ ActionKey string }
	}
	if err := json.Unmarshal([]byte(output), &graph); err != nil {
		t.Fatal(err)
	}
	if n := len(graph.Actions); n != 3 { // btfgen, btfdedup, btfrepro
		t.Errorf("%d actions link tools, want 3", n)
	}

	w.built(strings.Fields(targets)...)
	read := func(path string) string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	plain := read(filepath.Join(w.dir, "bazel-bin/vmlinux.btf"))
	variables := read(filepath.Join(w.dir, "bazel-bin/vmlinux_variables.btf"))
	output, err = w.bazel("cquery", "--output=files", "//:by_flag")
	if err != nil {
		t.Fatalf("cquery: %v\n%s", err, output)
	}
	byFlag := read(filepath.Join(w.dir, strings.TrimSpace(output)))
	if plain == variables || byFlag != variables {
		t.Errorf("BTF of %d bytes; with variables %d by attributes, %d by the flag", len(plain),
			len(variables), len(byFlag))
	}
}
