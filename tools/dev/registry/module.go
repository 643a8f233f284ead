package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"

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

func parseModule(path string, data []byte) (*build.File, error) {
	file, err := build.ParseModule(path, data)
	if err != nil {
		return nil, fmt.Errorf("parse MODULE.bazel: %w", err)
	}
	return file, nil
}

func readModuleFile(path string) (*build.File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseModule(path, data)
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
		sort.Strings(list)
	}
	return versions
}

// requestedVersion is the one version of name that files ask for.
func requestedVersion(files []*build.File, name string) (string, error) {
	found := ""
	for _, file := range files {
		for _, dep := range dependencies(file, true) {
			if dep.name != name {
				continue
			}
			if found != "" && found != dep.version {
				return "", fmt.Errorf("%s: asked for as both %s and %s", name, found, dep.version)
			}
			found = dep.version
		}
	}
	if found == "" {
		return "", fmt.Errorf("no MODULE.bazel has a bazel_dep on %s", name)
	}
	return found, nil
}

// workspaceModules reads the MODULE.bazel of the repository and of each workspace inside it.
func workspaceModules(repo string) ([]*build.File, error) {
	paths := []string{filepath.Join(repo, "MODULE.bazel")}
	for _, pattern := range []string{"e2e/*/MODULE.bazel", "examples/*/MODULE.bazel"} {
		found, err := filepath.Glob(filepath.Join(repo, pattern))
		if err != nil {
			return nil, err
		}
		paths = append(paths, found...)
	}
	var files []*build.File
	for _, path := range paths {
		file, err := readModuleFile(path)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// debianModules finds the modules that Debian's Bazel packages install below root.
func debianModules(root string) ([]*module, error) {
	var modules []*module
	for _, pattern := range []string{"rules/*", "tools/*"} {
		paths, err := filepath.Glob(filepath.Join(root, "usr/share/bazel", pattern, "MODULE.bazel"))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			m, err := moduleFromDir(filepath.Dir(path))
			if err != nil {
				return nil, err
			}
			inside, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return nil, err
			}
			m.path = "/" + inside
			modules = append(modules, m)
		}
	}
	return modules, nil
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
