package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/rules-btf/rules_btf/internal/support/mapped"
)

// staged is an output whose content is complete, but which has not yet been moved to its path.
type staged struct {
	path string
	temp string // the file or directory with the content; "" if it is in memory

	content bytes.Buffer // if temp is empty
	stdout  io.Writer    // if path is "-"
}

// writeOutputs implements Env.WriteOutputs. If an input was truncated meanwhile, no output appears.
// Rule: outputs: none appears before all are complete.
func writeOutputs(stdout io.Writer, outputs ...Artifact) (err error) {
	var all []*staged
	defer func() {
		for _, s := range all {
			if s.temp != "" {
				temps.remove(s.temp)
			}
		}
	}()
	for _, o := range outputs {
		s := &staged{path: o.Path}
		all = append(all, s)
		if err := s.fill(o, stdout); err != nil {
			return err
		}
	}
	if err := mapped.Check(); err != nil {
		return err
	}
	var files []*staged
	for _, s := range slices.Backward(all) {
		if s.temp != "" {
			files = append(files, s)
		} else if err := s.send(); err != nil {
			return err
		}
	}
	return place(files)
}

// fill writes the content of an output to a temporary file or directory, or to memory.
func (s *staged) fill(o Artifact, stdout io.Writer) error {
	if o.Dir != nil {
		return s.fillDir(o.Dir)
	}
	if s.path == "-" && stdout != nil {
		s.stdout = stdout
		return o.File(&s.content)
	}
	info, statErr := os.Stat(s.path)
	if statErr == nil && info.IsDir() {
		return fmt.Errorf("output %s is a directory; specify a file in it", s.path)
	}
	end, direct, err := follow(s.path)
	if err != nil {
		return err
	}
	s.path = end
	if direct {
		return o.File(&s.content)
	}
	s.temp = temps.name(s.path)
	f, err := os.OpenFile(s.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return s.createError(err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(mapped.Writer{File: f}, 1<<14)
	if err := o.File(w); err != nil {
		return s.writeError(err)
	}
	if o.KeepMode && statErr == nil {
		if err := f.Chmod(info.Mode().Perm()); err != nil {
			return s.writeError(err)
		}
	}
	return s.writeError(errors.Join(w.Flush(), f.Close()))
}

func (s *staged) fillDir(write func(dir string) error) error {
	list, err := os.ReadDir(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("output: %w", err)
	}
	if len(list) > 0 {
		return fmt.Errorf("output directory %s is not empty; specify a new directory", s.path)
	}
	end, _, err := follow(strings.TrimRight(s.path, "/"))
	if err != nil {
		return err
	}
	s.path = filepath.Clean(end)
	s.temp = temps.name(s.path)
	if err := os.Mkdir(s.temp, 0o777); err != nil {
		return s.createError(err)
	}
	return s.writeError(write(s.temp))
}

func (s *staged) createError(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = &fs.PathError{Op: "create", Path: s.path, Err: pe.Err}
		dir := filepath.Dir(s.path)
		if _, missing := os.Stat(dir); errors.Is(missing, fs.ErrNotExist) {
			return fmt.Errorf("output: %w; make the directory %s first", err, dir)
		}
	}
	return fmt.Errorf("output: %w", err)
}

// writeError replaces the temporary name in a write error by the name of the output.
func (s *staged) writeError(err error) error {
	pe, ok := errors.AsType[*fs.PathError](err)
	if !ok || !strings.HasPrefix(pe.Path, s.temp) {
		return err
	}
	return fmt.Errorf("output: %w", &fs.PathError{
		Op: pe.Op, Path: s.path + pe.Path[len(s.temp):], Err: pe.Err})
}

// DiskFull reports whether an output could not be written because there was no space for it.
func DiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// send writes the content in memory to the device, the pipe or standard output.
func (s *staged) send() error {
	if s.stdout != nil {
		_, err := s.stdout.Write(s.content.Bytes())
		return err
	}
	f, err := os.OpenFile(s.path, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.Write(s.content.Bytes())
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

// place moves files and directories to their final paths, and stops at the first error. If a signal
// arrives, the process ends only after place has returned.
func place(files []*staged) error {
	temps.mu.Lock()
	defer temps.mu.Unlock()
	for _, s := range files {
		// Unlike os.Rename, this replaces an empty directory.
		if err := syscall.Rename(s.temp, s.path); err != nil {
			return fmt.Errorf("output %s: %w", s.path, err)
		}
		delete(temps.names, s.temp)
		s.temp = "" // nothing to remove
	}
	return nil
}
