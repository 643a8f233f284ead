package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/bazelbuild/buildtools/build"
)

// stubs are modules that the graph of modules names and that no target here builds, with the files
// that get loaded.
var stubs = map[string]map[string]string{
	"apple_support": {},
	"protobuf":      {},
	"zlib":          {},
	"buildozer": {
		"buildozer_binary.bzl": `"""A module extension that Bazel names for "bazel mod tidy"."""

def _binary_impl(ctx):
    ctx.file("BUILD.bazel", "")
    ctx.file("buildozer.exe", "")

_binary = repository_rule(implementation = _binary_impl)

def _buildozer_binary_impl(_ctx):
    _binary(name = "buildozer_binary")

buildozer_binary = module_extension(implementation = _buildozer_binary_impl)
`,
	},
	"package_metadata": {
		"providers/BUILD.bazel": "",
		"providers/package_metadata_info.bzl": `"""Nothing of this is read by a build."""

PackageMetadataInfo = provider(doc = "Metadata of a package.", fields = [])
`,
		"rules/BUILD.bazel": "",
		"rules/package_metadata.bzl": `"""A rule that takes anything and says nothing."""

load("//providers:package_metadata_info.bzl", "PackageMetadataInfo")

def _package_metadata_impl(_ctx):
    return [DefaultInfo(), PackageMetadataInfo()]

_package_metadata = rule(
    implementation = _package_metadata_impl,
    attrs = {
        "attributes": attr.label_list(),
        "purl": attr.string(),
    },
)

def package_metadata(name, **kwargs):
    _package_metadata(
        name = name,
        applicable_licenses = [],
        purl = kwargs.get("purl"),
        visibility = kwargs.get("visibility"),
    )
`,
	},
}

func stubModules() []*module {
	var modules []*module
	for name, files := range stubs {
		text := fmt.Sprintf("module(name = %q)\n", name)
		file, err := build.ParseModule(name, []byte(text))
		if err != nil {
			panic(err) // the text is a constant but for a name of this file's
		}
		all := map[string]string{"MODULE.bazel": text, "BUILD.bazel": ""}
		maps.Copy(all, files)
		modules = append(modules, &module{name: name, file: file, files: all})
	}
	return modules
}

func (m *module) writeSources(dir string) error {
	for path, content := range m.files {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}
