package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A goModule is a Bazel module that is also published as a Go module, which is where it is taken
// from.
type goModule struct {
	name       string
	importPath string
	adapt      func(dir string) error
}

var goModules = []goModule{
	{"rules_go", "github.com/bazelbuild/rules_go", useHostSDK},
	{"gazelle", "github.com/bazelbuild/bazel-gazelle", vendor},
}

// copyTo writes the module's sources at version to dir and adapts them.
func (m goModule) copyTo(dir, version string) error {
	cmd := exec.Command("go", "mod", "download", "-json", m.importPath+"@v"+version)
	cmd.Dir = os.TempDir() // outside any Go module
	output, err := cmd.Output()
	var download struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(output, &download); jsonErr != nil || download.Dir == "" {
		return fmt.Errorf("go mod download %s@v%s: %s (%v)", m.importPath, version, download.Error, err)
	}
	if err := copyTree(download.Dir, dir); err != nil {
		return err
	}
	return m.adapt(dir)
}

// copyTree copies from's files to the new directory to: writable, and scripts executable, which zip
// files of Go modules don't keep.
func copyTree(from, to string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return filepath.WalkDir(to, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".sh") {
			err = os.Chmod(path, 0o755)
		}
		return err
	})
}

// useHostSDK makes every Go SDK that a module asks rules_go to download be the machine's own. A
// flag could choose the machine's SDK only in a workspace that declares one itself, and users'
// workspaces, which examples/ and e2e/ stand for, don't.
func useHostSDK(dir string) error {
	path := filepath.Join(dir, "go/private/extensions.bzl")
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	const definition = "def _download_sdk(*, get_sdks_by_version, name, goos, goarch, download_tag):"
	if strings.Count(string(data), definition) != 1 {
		return fmt.Errorf("%s: definition of _download_sdk isn't as expected", path)
	}
	text := strings.Replace(string(data), definition, definition+`
    go_host_sdk_rule(name = name, experiments = download_tag.experiments)

def _download_sdk_from_network(*, get_sdks_by_version, name, goos, goarch, download_tag):`, 1)
	return os.WriteFile(path, []byte(text), 0o644)
}

// vendor fills in the vendor directory, which gazelle's repository rules build their tools from and
// which zip files of Go modules leave out.
func vendor(dir string) error {
	cmd := exec.Command("go", "mod", "vendor", "-e")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go mod vendor: %v: %s", err, output)
	}
	return nil
}
