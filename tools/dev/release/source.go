package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/bazelbuild/buildtools/build"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

// source is a commit.
type source struct {
	repo   string
	commit string
	dir    string         // has the commit's files
	module module.Version // of Go
	sums   map[string]bool
	tools  []string // names of the programs
}

// openSource writes the files of a commit to the new directory dir, and reads what a release needs to
// know of them.
func openSource(repo, revision, dir string) (*source, error) {
	s := &source{repo: repo, dir: dir}
	out, err := s.git("rev-parse", "--verify", revision+"^{commit}")
	if err != nil {
		return nil, fmt.Errorf("there is no commit %s in %s: %w", revision, repo, err)
	}
	s.commit = strings.TrimSpace(string(out))
	if err := s.extract(); err != nil {
		return nil, err
	}
	text, err := s.read("MODULE.bazel")
	if err != nil {
		return nil, err
	}
	file, err := build.ParseModule("MODULE.bazel", text)
	if err != nil {
		return nil, err
	}
	for _, rule := range file.Rules("module") {
		s.module.Version = "v" + rule.AttrString("version")
	}
	if text, err = s.read("go.mod"); err != nil {
		return nil, err
	}
	s.module.Path = modfile.ModulePath(text)
	if err := module.Check(s.module.Path, s.module.Version); err != nil {
		return nil, fmt.Errorf("go.mod and MODULE.bazel: %w", err)
	}
	if text, err = s.read("go.sum"); err != nil {
		return nil, err
	}
	s.sums = map[string]bool{}
	for line := range strings.Lines(string(text)) {
		s.sums[strings.TrimSpace(line)] = true
	}
	return s, s.findTools()
}

// extract writes the files of the commit. (modzip.CreateFromVCS knows no work trees.)
func (s *source) extract() error {
	data, err := s.git("-c", "core.autocrlf=input", "-c", "core.eol=lf", "archive", "--format=tar",
		s.commit)
	if err != nil {
		return err
	}
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		return err
	}
	tar := exec.Command("tar", "--extract")
	tar.Dir, tar.Stdin = s.dir, bytes.NewReader(data)
	if out, err := tar.CombinedOutput(); err != nil {
		return fmt.Errorf("tar: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// findTools finds the programs of a release: those in directories of tools, but not of tools/dev.
func (s *source) findTools() error {
	programs, err := filepath.Glob(filepath.Join(s.dir, "tools/*/main.go"))
	for _, path := range programs { // sorted
		s.tools = append(s.tools, filepath.Base(filepath.Dir(path)))
	}
	if err == nil && len(s.tools) == 0 {
		err = fmt.Errorf("%s: no file tools/*/main.go", s.commit)
	}
	return err
}

// name is that of a file of the release.
func (s *source) name(ending string) string {
	return path.Base(s.module.Path) + "-" + s.version() + ending
}

func (s *source) version() string { return strings.TrimPrefix(s.module.Version, "v") }

// read returns the content of a file of the commit.
func (s *source) read(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(s.dir, name))
}

func (s *source) git(args ...string) ([]byte, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = s.repo
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}

// publish writes the module as a Go module proxy serves it, into the directory of such a proxy, and
// returns what it is called.
func (s *source) publish(proxy string) (string, error) {
	dir := filepath.Join(proxy, s.module.Path, "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	mod, err := s.read("go.mod")
	if err != nil {
		return "", err
	}
	info, err := json.Marshal(struct{ Version string }{s.module.Version})
	if err != nil {
		return "", err
	}
	for name, data := range map[string][]byte{s.module.Version + ".mod": mod,
		s.module.Version + ".info": info, "list": []byte(s.module.Version + "\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return "", err
		}
	}
	archive, err := os.Create(filepath.Join(dir, s.module.Version+".zip"))
	if err != nil {
		return "", err
	}
	if err := modzip.CreateFromDir(archive, s.module, s.dir); err != nil {
		archive.Close()
		return "", err
	}
	return s.module.String(), archive.Close()
}
