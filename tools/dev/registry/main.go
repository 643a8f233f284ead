// Command registry writes a Bazel registry of local files, so that this repository's workspaces
// build where the central registry doesn't answer.
//
//	registry --root ROOT --repo REPO --out DIR
//
// ROOT is a Debian root with the package bazel-bootstrap, which brings most modules that Bazel
// itself needs; REPO is this repository; DIR, which must not exist, gets the registry
// (modules/NAME/VERSION/…) and the sources of the modules that Debian doesn't package: rules_go and
// gazelle, taken from the Go module cache, and stubs of modules that are named and never built.
//
// A module is served under every version that some MODULE.bazel here asks for. That is right for a
// closed world only: what the versions say is then a wish, and the one source that is present has
// to do.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("registry: ")
	root := flag.String("root", "", "Debian root with bazel-bootstrap")
	repo := flag.String("repo", "", "this repository")
	out := flag.String("out", "", "directory to write")
	home := flag.String("home", "", "path under which the output will be found (default: --out)")
	flag.Parse()
	if *root == "" || *repo == "" || *out == "" || flag.NArg() != 0 {
		log.Fatal("usage: registry --root ROOT --repo REPO --out DIR [--home DIR]")
	}
	if *home == "" {
		*home = *out
	}
	if err := run(*root, *repo, *out, *home); err != nil {
		log.Fatal(err)
	}
}

func run(root, repo, out, home string) error {
	workspaces, err := workspaceModules(repo)
	if err != nil {
		return err
	}
	debian, err := debianModules(root)
	if err != nil {
		return err
	}
	modules := append(stubModules(), debian...)
	for _, goModule := range goModules {
		version, err := requestedVersion(workspaces, goModule.name)
		if err != nil {
			return err
		}
		dir := filepath.Join(out, "sources", goModule.name)
		if err := goModule.copyTo(dir, version); err != nil {
			return fmt.Errorf("%s: %w", goModule.name, err)
		}
		module, err := moduleFromDir(dir)
		if err != nil {
			return err
		}
		module.path = filepath.Join(home, "sources", goModule.name)
		modules = append(modules, module)
	}

	embedded, err := readModuleFile(filepath.Join(root, "usr/share/bazel/embedded_tools/MODULE.bazel"))
	if err != nil {
		return err
	}
	requests := requestedVersions(append(workspaces, embedded), modules)
	for _, module := range modules {
		if module.files != nil {
			if err := module.writeSources(filepath.Join(out, "sources", module.name)); err != nil {
				return err
			}
			module.path = filepath.Join(home, "sources", module.name)
		}
		for _, version := range requests[module.name] {
			if err := module.publish(filepath.Join(out, "modules"), version); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(filepath.Join(out, "bazel_registry.json"), []byte("{}\n"), 0o644)
}
