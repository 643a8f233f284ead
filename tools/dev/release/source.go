package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
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
	module module.Version // of Go
	sums   map[string]bool
	tools  []string // names of the programs
}

// openSource reads what a release needs to know of a commit.
func openSource(repo, revision string) (*source, error) {
	s := &source{repo: repo}
	out, err := s.git("rev-parse", "--verify", revision+"^{commit}")
	if err != nil {
		return nil, fmt.Errorf("there is no commit %s in %s: %w", revision, repo, err)
	}
	s.commit = strings.TrimSpace(string(out))
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

// findTools finds the programs of a release: those in directories of tools, but not of tools/dev.
func (s *source) findTools() error {
	list, err := s.git("ls-tree", "-r", "--name-only", s.commit, "tools/")
	if err != nil {
		return err
	}
	for _, name := range strings.Fields(string(list)) {
		if ok, _ := path.Match("tools/*/main.go", name); ok {
			s.tools = append(s.tools, path.Base(path.Dir(name)))
		}
	}
	slices.Sort(s.tools)
	if len(s.tools) == 0 {
		return fmt.Errorf("%s: no file tools/*/main.go", s.commit)
	}
	return nil
}

// name is that of a file of the release.
func (s *source) name(ending string) string {
	return path.Base(s.module.Path) + "-" + s.version() + ending
}

func (s *source) version() string { return strings.TrimPrefix(s.module.Version, "v") }

// read returns the content of a file of the commit.
func (s *source) read(name string) ([]byte, error) { return s.git("show", s.commit+":"+name) }

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
	file := filepath.Join(dir, s.module.Version)
	if err := os.WriteFile(file+".mod", mod, 0o644); err != nil {
		return "", err
	}
	if err := os.WriteFile(file+".info", info, 0o644); err != nil {
		return "", err
	}
	list := []byte(s.module.Version + "\n")
	if err := os.WriteFile(filepath.Join(dir, "list"), list, 0o644); err != nil {
		return "", err
	}
	archive, err := os.Create(file + ".zip")
	if err != nil {
		return "", err
	}
	files, err := s.files()
	if err != nil {
		return "", err
	}
	if err := modzip.Create(archive, s.module, files); err != nil {
		archive.Close()
		return "", err
	}
	return s.module.String(), archive.Close()
}

// files are all files of the commit. (modzip.CreateFromVCS knows no work trees.)
func (s *source) files() ([]modzip.File, error) {
	data, err := s.git("-c", "core.autocrlf=input", "-c", "core.eol=lf", "archive", "--format=zip",
		s.commit)
	if err != nil {
		return nil, err
	}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	var files []modzip.File
	for _, f := range archive.File {
		if !strings.HasSuffix(f.Name, "/") {
			files = append(files, archived{f})
		}
	}
	return files, nil
}

// archived is a file in an archive of git's.
type archived struct{ file *zip.File }

func (a archived) Path() string                 { return a.file.Name }
func (a archived) Lstat() (os.FileInfo, error)  { return a.file.FileInfo(), nil }
func (a archived) Open() (io.ReadCloser, error) { return a.file.Open() }
