package harness

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// aboveWorkspace matches the beginning of a path that leads from a workspace to this checkout.
var aboveWorkspace = regexp.MustCompile(`path = "\.\.(/\.\.)+`)

// CopyWorkspace copies a workspace from this repository. The copy uses the rules in this checkout.
func CopyWorkspace(t testing.TB, from, to string) {
	t.Helper()
	must.OK(t, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		text := string(ReadFile(t, path))
		if name == "MODULE.bazel" {
			text = aboveWorkspace.ReplaceAllLiteralString(text, `path = "`+Repo())
		}
		WriteFile(t, filepath.Join(to, name), text)
		return nil
	}))
}

const toolchain = `load("@rules_btf//rules:toolchain.bzl", "btf_toolchain")

btf_toolchain(
    name = "tools",
    btfdedup = "files/btfdedup",
    btfgen = "files/btfgen",
    visibility = ["//visibility:public"],
)

toolchain(
    name = "prebuilt",
    toolchain = ":tools",
    toolchain_type = "@rules_btf//rules/toolchain:toolchain_type",
)
`

// AddTools adds a toolchain of prebuilt tools to a workspace, because Bazel would take minutes to
// build the tools. It returns the Bazel flag that selects the toolchain.
func AddTools(t testing.TB, workspace, btfgen, btfdedup string) string {
	t.Helper()
	dir := filepath.Join(workspace, "prebuilt")
	WriteFile(t, filepath.Join(dir, "BUILD.bazel"), toolchain)
	for name, file := range map[string]string{"btfgen": btfgen, "btfdedup": btfdedup} {
		path := filepath.Join(dir, "files", name)
		must.OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must.OK(t, os.WriteFile(path, ReadFile(t, file), 0o755))
	}
	return "--extra_toolchains=//prebuilt"
}
