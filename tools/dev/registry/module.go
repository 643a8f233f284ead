package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bazelbuild/buildtools/build"
)

// A module is what the registry serves under one name: a parsed MODULE.bazel and the directory
// where its sources are.
type module struct {
	name  string
	file  *build.File
	path  string            // the sources' directory as Bazel will see it
	files map[string]string // sources of a stub by path, nil for a module that exists
}

// A dependency is one bazel_dep that a user of the module inherits (not a dev_dependency).
type dependency struct{ name, version string }

func readModuleFile(path string) (*build.File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return build.ParseModule(path, data)
}

// moduleFromDir reads the module whose root is dir.
func moduleFromDir(dir string) (*module, error) {
	file, err := readModuleFile(filepath.Join(dir, "MODULE.bazel"))
	if err != nil {
		return nil, err
	}
	for _, rule := range file.Rules("module") {
		return &module{name: rule.AttrString("name"), file: file, path: dir}, nil
	}
	return nil, fmt.Errorf("%s: no module() in MODULE.bazel", dir)
}

// dependencies lists file's bazel_deps; with dev, those marked dev_dependency too.
func dependencies(file *build.File, dev bool) []dependency {
	var deps []dependency
	for _, rule := range file.Rules("bazel_dep") {
		if rule.AttrLiteral("dev_dependency") == "True" && !dev {
			continue
		}
		if version := rule.AttrString("version"); version != "" {
			deps = append(deps, dependency{rule.AttrString("name"), version})
		}
	}
	return deps
}

// requestedVersions says, sorted, which versions of each module are asked for: by roots, and by
// modules among themselves.
func requestedVersions(roots []*build.File, modules []*module) map[string][]string {
	seen := map[dependency]bool{}
	for _, file := range roots {
		for _, dep := range dependencies(file, true) {
			seen[dep] = true
		}
	}
	for _, module := range modules {
		for _, dep := range dependencies(module.file, false) {
			seen[dep] = true
		}
	}
	versions := map[string][]string{}
	for dep := range seen {
		versions[dep.name] = append(versions[dep.name], dep.version)
	}
	for _, list := range versions {
		slices.Sort(list)
	}
	return versions
}

// requestedVersion is the one version of name that files ask for.
func requestedVersion(files []*build.File, name string) (string, error) {
	switch versions := requestedVersions(files, nil)[name]; len(versions) {
	case 0:
		return "", fmt.Errorf("no MODULE.bazel has a bazel_dep on %s", name)
	case 1:
		return versions[0], nil
	default:
		return "", fmt.Errorf("%s: asked for as all of %s", name, strings.Join(versions, ", "))
	}
}

// workspaceModules reads the MODULE.bazel of the repository and of each workspace inside it.
func workspaceModules(repo string) (files []*build.File, err error) {
	err = eachFile(repo, func(path string) error {
		file, err := readModuleFile(filepath.Join(repo, path))
		files = append(files, file)
		return err
	}, "MODULE.bazel", "e2e/*/MODULE.bazel", "examples/*/MODULE.bazel")
	return files, err
}

// debianModules finds the modules that Debian's Bazel packages install below root.
func debianModules(root string) (modules []*module, err error) {
	err = eachFile(root, func(path string) error {
		m, err := moduleFromDir(filepath.Join(root, filepath.Dir(path)))
		if err == nil {
			m.path = "/" + filepath.Dir(path)
			modules = append(modules, m)
		}
		return err
	}, "usr/share/bazel/rules/*/MODULE.bazel", "usr/share/bazel/tools/*/MODULE.bazel")
	return modules, err
}

// eachFile calls f with the paths of the files below root that match patterns, until it fails.
func eachFile(root string, f func(path string) error, patterns ...string) error {
	for _, pattern := range patterns {
		paths, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil {
			return err
		}
		for _, path := range paths {
			if err := f(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// publish writes the registry's entry of the module at one version.
func (m *module) publish(registry, version string) error {
	dir := filepath.Join(registry, m.name, version)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, rule := range m.file.Rules("module") {
		rule.SetAttr("version", &build.StringExpr{Value: version})
	}
	if err := os.WriteFile(filepath.Join(dir, "MODULE.bazel"), build.FormatWithoutRewriting(m.file),
		0o644); err != nil {
		return err
	}
	source, err := json.Marshal(map[string]string{"type": "local_path", "path": m.path})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "source.json"), append(source, '\n'), 0o644)
}
