package cli

import (
	"crypto/rand"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/rules-btf/rules_btf/internal/support/mapped"
)

// Artifact is a file or directory that a command writes. Either File or Dir is set.
type Artifact struct {
	Path string                  // "-" is standard output
	File func(w io.Writer) error // writes a file's content
	Dir  func(dir string) error  // fills a directory, which exists
	// KeepMode gives a file the permissions of the one whose place it takes.
	KeepMode bool
}

// Bytes is an Artifact's File whose content is that of parts, one after the other.
func Bytes(parts ...[]byte) func(w io.Writer) error {
	return func(w io.Writer) error {
		for _, part := range parts {
			if _, err := w.Write(part); err != nil {
				return err
			}
		}
		return nil
	}
}

// WriteFile writes a file whole or not at all: write fills a temporary file in the same directory,
// which then takes path's place. Its mode is 0644 less the umask. On failure nothing new is left,
// and what was at path is still there. Links are followed; a device, a pipe or what the process has
// open (/dev/stdout) is written directly.
func WriteFile(path string, write func(w io.Writer) error) error {
	return writeOutputs(nil, []Artifact{{Path: path, File: write}}, mapped.Check)
}

// WriteDir makes a directory of files whole or not at all: write fills a temporary directory next
// to path, which then takes path's place. At path there may be an empty directory, nothing else.
func WriteDir(path string, write func(dir string) error) error {
	return writeOutputs(nil, []Artifact{{Path: path, Dir: write}}, mapped.Check)
}

// WriteOutput is WriteFile, except that the path "-" means Stdout, which gets nothing if write
// fails.
func (e *Env) WriteOutput(path string, write func(w io.Writer) error) error {
	return e.WriteOutputs(Artifact{Path: path, File: write})
}

// WriteOutputs writes outputs like WriteFile, WriteDir and WriteOutput: each is whole or not there,
// and none of them appears before the content of all is complete. Their content is written in the
// order given; they take their places in the other order, so that the first one is the last to
// appear.
//
// What went to a device, a pipe or Stdout can't be taken back. So these are written when all
// content is complete, before the files take their places.
func (e *Env) WriteOutputs(outputs ...Artifact) error {
	if e.Worker { // what is mapped may be another run's
		return writeOutputs(e.Stdout, outputs, nil)
	}
	return writeOutputs(e.Stdout, outputs, mapped.Check)
}

// tempSet is the names of temporary files and directories, to be removed on a signal.
type tempSet struct {
	mu    sync.Mutex
	names map[string]bool
}

var temps = tempSet{names: map[string]bool{}}

// name returns a new name next to path. It is random so that two writers of one output take
// different names; it never reaches an output byte.
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
