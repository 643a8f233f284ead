package cli

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
)

// WriteFile writes a file whole or not at all: write fills a temporary file in the same directory,
// which then takes path's place. Its mode is 0644 less the umask. On failure nothing new is left,
// and what was at path is still there. A device or pipe at path is written directly.
func WriteFile(path string, write func(w io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		if info.IsDir() {
			return fmt.Errorf("output %s is a directory", path)
		}
		return writeSpecial(path, write)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	temp := temps.name(path)
	defer temps.remove(temp)
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return createError(path, err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<16)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("output %s: %w", path, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("output %s: %w", path, err)
	}
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

// WriteOutput is WriteFile, except that the path "-" means Stdout, which gets nothing if write
// fails.
func (e *Env) WriteOutput(path string, write func(w io.Writer) error) error {
	if path != "-" {
		return WriteFile(path, write)
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	_, err := e.Stdout.Write(b.Bytes())
	return err
}

// WriteDir makes a directory of files whole or not at all: write fills a temporary directory next
// to path, which then takes path's place. At path there may be an empty directory, nothing else.
func WriteDir(path string, write func(dir string) error) error {
	list, err := os.ReadDir(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("output: %w", err)
	}
	if len(list) > 0 {
		return fmt.Errorf("output directory %s is not empty; name a new one", path)
	}
	path = filepath.Clean(path)
	temp := temps.name(path)
	defer temps.remove(temp)
	if err := os.Mkdir(temp, 0o777); err != nil {
		return createError(path, err)
	}
	if err := write(temp); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("output: %w", err)
	}
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

func writeSpecial(path string, write func(w io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	if _, err := f.Write(b.Bytes()); err != nil {
		f.Close()
		return fmt.Errorf("output: %w", err)
	}
	return f.Close()
}

// createError is the error that a temporary file or directory for path couldn't be made.
func createError(path string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = &fs.PathError{Op: "create", Path: path, Err: pe.Err}
	}
	return fmt.Errorf("output: %w", err)
}

// tempSet is the names of temporary files and directories, to be removed on a signal.
type tempSet struct {
	mu    sync.Mutex
	names map[string]bool
}

var temps = tempSet{names: map[string]bool{}}

// name returns a new name next to path. It is random so that two writers of one output do not meet;
// it never reaches an output byte.
func (t *tempSet) name(path string) string {
	dir, name := filepath.Split(path)
	temp := filepath.Join(dir, "."+name[:min(len(name), 200)]+"."+rand.Text()+".tmp")
	t.mu.Lock()
	defer t.mu.Unlock()
	t.names[temp] = true
	return temp
}

// remove removes what is at a name: nothing, if it has taken its output's place.
func (t *tempSet) remove(name string) {
	os.RemoveAll(name)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.names, name)
}

var atSignal atomic.Pointer[func()]

// AtSignal makes an interrupt call f, which must not wait for anything, before the process ends. It
// takes the place of what the last call named.
func AtSignal(f func()) { atSignal.Store(&f) }

// removeTempsOnSignal makes an interrupt remove the temporary files and directories before the
// process ends as it would have.
func removeTempsOnSignal() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		sig := <-c
		if f := atSignal.Load(); f != nil {
			(*f)()
		}
		temps.mu.Lock() // held to the end: no file is made after this
		for name := range temps.names {
			gone := name + ".gone"
			os.Rename(name, gone) // nothing is made in a directory any more, but what has begun
			// Another thread may be in the way.
			for try := 0; os.RemoveAll(gone) != nil && try < 100; try++ {
			}
		}
		os.Exit(128 + int(sig.(syscall.Signal)))
	}()
}
