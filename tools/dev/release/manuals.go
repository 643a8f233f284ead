package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
)

// withManuals are the programs that write man pages and completions if they are built with the tag
// manuals.
var withManuals = []string{"btfdedup", "btfgen", "btfrepro"}

// writeManuals writes man pages and completions for shells below a directory. The pages show the
// month of the commit.
func (s *source) writeManuals(scratch, dir string) error {
	seconds, err := s.git("show", "-s", "--format=%ct", s.commit)
	if err != nil {
		return err
	}
	programs, err := s.build(scratch, runtime.GOOS+"-"+runtime.GOARCH, "-tags=manuals")
	if err != nil {
		return err
	}
	for _, p := range programs {
		if !slices.Contains(withManuals, p.name) {
			continue
		}
		cmd := exec.Command(p.path, "manuals", dir)
		cmd.Env = []string{"SOURCE_DATE_EPOCH=" + string(bytes.TrimSpace(seconds)), "TZ=UTC"}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%q: %w\n%s", cmd.Args, err, bytes.TrimSpace(out))
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
