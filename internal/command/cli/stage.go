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

// staged is an output whose content is complete, but not in its place.
type staged struct {
	path string
	temp string // the file or directory with the content; "" if it is in memory

	content bytes.Buffer // for what is not a file
	stdout  io.Writer    // if path is "-", or leads to the descriptor of standard output
	fd      int          // the descriptor that path leads to, or -1
}

// writeOutputs is Env.WriteOutputs. check, nil for none, is asked before anything appears.
func writeOutputs(stdout io.Writer, outputs []Artifact, check func() error) (err error) {
	var all []*staged
	defer func() {
		for _, s := range all {
			if s.temp != "" {
				temps.remove(s.temp)
			}
		}
	}()
	for _, o := range outputs {
		s := &staged{path: o.Path, fd: -1}
		all = append(all, s)
		if err := s.fill(o, stdout); err != nil {
			return err
		}
	}
	if check != nil {
		if err := check(); err != nil {
			return err
		}
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
	end, fd, err := follow(s.path)
	if err != nil {
		return err
	}
	info, statErr := os.Stat(s.path)
	switch {
	case fd >= 0:
		if s.fd = fd; fd == stdoutFD && stdout != nil {
			s.stdout = stdout
		}
		return o.File(&s.content)
	case statErr == nil && info.IsDir():
		return fmt.Errorf("output %s is a directory", s.path)
	case statErr == nil && !(info.Mode().IsRegular() && isFile(end, info)):
		return o.File(&s.content)
	}
	s.path = end
	s.temp = temps.name(s.path)
	f, err := os.OpenFile(s.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return s.createError(err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(mapped.Writer{File: f}, 1<<16)
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

// fillDir fills a temporary directory.
func (s *staged) fillDir(write func(dir string) error) error {
	list, err := os.ReadDir(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("output: %w", err)
	}
	if len(list) > 0 {
		return fmt.Errorf("output directory %s is not empty; name a new one", s.path)
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

// createError is the error that the temporary file or directory couldn't be made.
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

// writeError is the error that the content couldn't be written, in which the temporary name is the
// output's. Other errors and nil stay.
func (s *staged) writeError(err error) error {
	pe, ok := errors.AsType[*fs.PathError](err)
	if !ok || !strings.HasPrefix(pe.Path, s.temp) {
		return err
	}
	return fmt.Errorf("output: %w", &fs.PathError{
		Op: pe.Op, Path: s.path + pe.Path[len(s.temp):], Err: pe.Err})
}

// send writes what is in memory to the device, the pipe or standard output.
func (s *staged) send() error {
	if s.stdout != nil {
		_, err := s.stdout.Write(s.content.Bytes())
		return err
	}
	f, err := s.open()
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	if _, err := f.Write(s.content.Bytes()); err != nil {
		f.Close()
		return fmt.Errorf("output: %w", err)
	}
	return f.Close()
}

// open opens what is no regular file, or the file of a link that is more than its text: one in
// another process's /proc/PID/fd.
func (s *staged) open() (*os.File, error) {
	if s.fd < 0 {
		return os.OpenFile(s.path, os.O_WRONLY|os.O_TRUNC, 0)
	}
	fd, err := syscall.Dup(s.fd)
	if err != nil {
		return nil, &fs.PathError{Op: "dup", Path: s.path, Err: err}
	}
	return os.NewFile(uintptr(fd), s.path), nil
}

// place lets files and directories take their places, as far as the first that can't. An interrupt
// waits for it.
func place(files []*staged) error {
	temps.mu.Lock()
	defer temps.mu.Unlock()
	for _, s := range files {
		// Unlike os.Rename, this replaces an empty directory.
		if err := syscall.Rename(s.temp, s.path); err != nil {
			return fmt.Errorf("output %s: %w", s.path, err)
		}
	}
	return nil
}
