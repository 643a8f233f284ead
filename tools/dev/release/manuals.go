package main

import (
	"archive/tar"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rules-btf/rules_btf/internal/command/manuals"
)

// withVerbs are the programs that describe themselves.
var withVerbs = []string{"btfdedup", "btfgen", "btfrepro"}

// writeManuals writes man pages and completions for shells to a directory, as the programs that run
// here describe themselves: all has those of the platforms. The pages show the month of the commit.
func (s *source) writeManuals(scratch, dir string, all []program) error {
	out, err := s.git("show", "-s", "--format=%ct", s.commit)
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil {
		return err
	}
	here := runtime.GOOS + "-" + runtime.GOARCH
	if !slices.Contains(platforms, here) {
		if all, err = s.build(scratch, here); err != nil {
			return err
		}
	}
	for _, p := range all {
		if p.platform != here || !slices.Contains(withVerbs, p.name) {
			continue
		}
		if err := manuals.Write(dir, p.path, time.Unix(seconds, 0)); err != nil {
			return err
		}
	}
	return nil
}

// addTree adds all files of a directory to an archive, in order.
func addTree(archive *tar.Writer, dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return addFile(archive, filepath.ToSlash(name), 0o644, data)
	})
}
