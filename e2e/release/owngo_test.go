package release

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// otherGo is an older Go than the one in go.mod.
const otherGo = "go1.24.11"

// TestOwnGo builds e2e/smoke with the tools of a release. That workspace has Go code, a Go SDK and
// its own versions of Go modules, and rules_btf must not affect them.
func TestOwnGo(t *testing.T) {
	w := newWorkspace(t)
	harness.CopyWorkspace(t, filepath.Join(harness.Repo(), "e2e/smoke"), w.dir)
	path := filepath.Join(w.dir, "MODULE.bazel")
	module := regexp.MustCompile(`local_path_override\(\s*module_name = "rules_btf"[^)]*\)`).
		ReplaceAllString(string(harness.ReadFile(t, path)), "")
	harness.WriteFile(t, path, module)

	// The offline root replaces each downloaded SDK by the one in GOROOT.
	sdk, err := harness.Command{Argv: []string{"go", "env", "GOROOT"}, Dir: w.dir,
		Env: []string{"GOTOOLCHAIN=" + otherGo}}.Run()
	if err != nil || sdk.Exit != 0 {
		t.Skipf("SKIPPED: %s can't be had: %v\n%s", otherGo, err, sdk.Stderr)
	}
	root := "--repo_env=GOROOT=" + strings.TrimSpace(sdk.Stdout)
	btfActions(t, w.build(t, root, "//..."), "btf_tools_linux_amd64", 8)
	// The analysis needs the Go modules in the versions of this workspace, and its SDK. To compile
	// would take minutes and show no more.
	out, err := w.run("build", root, "--nobuild", "//:kernel")
	if err != nil || out.Exit != 0 || strings.Contains(out.Stderr, "implicitly updated") {
		t.Errorf("//:kernel: %v, exit code %d, want no other versions of modules\n%s", err, out.Exit,
			out.Stderr)
	}
}

// TestModCommands runs commands that look at all modules and extensions of a workspace that uses a
// release, and commands that run the release's tools. None of them may need Go.
func TestModCommands(t *testing.T) {
	w := newWorkspace(t)
	harness.WriteFile(t, filepath.Join(w.dir, "MODULE.bazel"),
		"module(name = \"user\")\nbazel_dep(name = \"rules_btf\", version = \""+version(t)+"\")\n")
	harness.WriteFile(t, filepath.Join(w.dir, "BUILD.bazel"), `
genrule(
    name = "versions",
    outs = ["versions.txt"],
    cmd = "for tool in $(BTFCORE) $(BTFDEDUP) $(BTFGEN) $(BTFREPRO); do $$tool --version; done >$@",
    toolchains = ["@rules_btf//rules/toolchain/current"],
    tools = ["@rules_btf//rules/toolchain/current"],
)
`)
	printed := ""
	for _, line := range []string{"mod graph", "mod deps rules_btf", "mod all_paths rules_btf",
		"mod show_repo rules_btf", "mod show_extension @rules_btf//rules:extensions.bzl%btf",
		"fetch @rules_btf//rules:defs", "build //:versions", "run @rules_btf//:btfcore -- --version",
		"run @rules_btf//:btfdedup -- --version", "run @rules_btf//:btfgen -- --version",
		"run @rules_btf//:btfrepro -- --version"} {
		result, err := w.run(strings.Fields(line)...)
		if err != nil || result.Exit != 0 {
			t.Errorf("bazel %s: %v, exit code %d\n%s", line, err, result.Exit, result.Stderr)
		}
		if strings.Contains(result.Stdout, "rules_go") || strings.Contains(result.Stdout, "gazelle") {
			t.Errorf("bazel %s prints modules that only our own builds need:\n%s", line, result.Stdout)
		}
		if strings.HasPrefix(line, "run ") {
			printed += result.Stdout
		}
	}
	if want := harness.ReadFile(t, filepath.Join(w.dir, "bazel-bin/versions.txt")); printed !=
		string(want) || strings.Count(printed, version(t)) != 4 {
		t.Errorf("the tools print %q with bazel run, and %q in a genrule", printed, want)
	}
	w.nothingOfGo(t)
}
