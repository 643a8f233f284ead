package twobuilds

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// toolsPackage is the Bazel package with the ready-made tools. Its name must not be in use in the
// workspace.
const toolsPackage = "btfrepro_ready_made_tools"

const toolsBuild = `load("@rules_btf//rules:toolchain.bzl", "btf_toolchain")

btf_toolchain(
    name = "tools",
    visibility = ["//visibility:public"],
%s)

toolchain(
    name = "toolchain",
    toolchain = ":tools",
    toolchain_type = "@rules_btf//rules/toolchain:toolchain_type",
)
`

// toolFlags copies the programs in the directory of Options.Tools to a Bazel package outside the
// workspace. It returns the flags with which Bazel finds that package and runs the programs in
// place of those that it would build. Both builds use the same package, so the programs have the
// same path and the same bytes in both.
func (b *Builds) toolFlags() ([]string, error) {
	if b.opt.Tools == "" {
		return nil, nil
	}
	root := filepath.Join(b.scratch, "tools")
	dir := filepath.Join(root, toolsPackage)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var attributes strings.Builder
	for _, name := range []string{"btfcore", "btfdedup", "btfgen", "btfrepro"} {
		err := copyProgram(filepath.Join(b.opt.Tools, name), filepath.Join(dir, name))
		if os.IsNotExist(err) && (name == "btfcore" || name == "btfrepro") {
			continue // few rules run these programs
		}
		if err != nil {
			return nil, fmt.Errorf("%w; the directory of --tools must have the programs btfgen and "+
				"btfdedup", err)
		}
		fmt.Fprintf(&attributes, "    %s = %q,\n", name, name)
	}
	text := fmt.Sprintf(toolsBuild, attributes.String())
	if err := os.WriteFile(filepath.Join(dir, "BUILD.bazel"), []byte(text), 0o644); err != nil {
		return nil, err
	}
	return []string{"--package_path=%workspace%:" + root,
		"--extra_toolchains=//" + toolsPackage + ":toolchain"}, nil
}

func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}
