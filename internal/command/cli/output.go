package cli

import (
	"crypto/rand"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// Artifact is a file or directory that a command writes. Either File or Dir is set.
type Artifact struct {
	Path string                  // "-" is standard output
	File func(w io.Writer) error // writes a file's content
	Dir  func(dir string) error  // fills a temporary directory; only an empty directory is replaced
	// KeepMode gives a file the permissions of the file that it replaces.
	KeepMode bool
}

// Bytes returns a function for Artifact's field File. This function writes the parts in order.
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

// WriteFile writes a file whole or not at all. The function write fills a temporary file next to
// path, which then replaces path. A new file has mode 0644, less the umask. A failure changes
// nothing. Links are followed. A device, a pipe or an open file (/dev/stdout) is written directly.
func WriteFile(path string, write func(w io.Writer) error) error {
	return writeOutputs(nil, Artifact{Path: path, File: write})
}

// WriteOutput is like WriteFile, but "-" means Stdout. If write fails, Stdout gets nothing.
func (e *Env) WriteOutput(path string, write func(w io.Writer) error) error {
	return e.WriteOutputs(Artifact{Path: path, File: write})
}

// WriteOutputs writes outputs like WriteFile and WriteOutput, but no output appears before the
// content of all outputs is complete. The content is written in the given order. The
// outputs appear in reverse order, so the first output appears last.
//
// A write to a device, a pipe or Stdout can't be undone. So these outputs are written when all
// content is complete, but before any file appears.
func (e *Env) WriteOutputs(outputs ...Artifact) error {
	return writeOutputs(e.Stdout, outputs...)
}

// tempSet holds the temporary files and directories to remove on a signal.
type tempSet struct {
	mu    sync.Mutex
	names map[string]bool
	shown []string // for strings.NewReplacer: what messages show in place of the names
}

var temps = tempSet{names: map[string]bool{}}

// name returns a new path in the directory of path: a random one, so that processes don't collide.
func (t *tempSet) name(path string) string {
	dir, name := filepath.Split(path)
	temp := filepath.Join(dir, "."+name[:min(len(name), 200)]+"."+rand.Text()+".tmp")
	t.mu.Lock()
	defer t.mu.Unlock()
	t.names[temp] = true
	return temp
}

// remove removes a temporary file or directory, unless it has been renamed.
func (t *tempSet) remove(name string) {
	os.RemoveAll(name)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.names, name)
}

// TempDir makes a temporary directory next to the file or directory path, and the directories above
// it. Messages show a file in it as "shown: file". The function remove removes it, and so does a
// signal.
func TempDir(path, shown string) (dir string, remove func(), err error) {
	dir = temps.name(filepath.Clean(path))
	temps.mu.Lock()
	temps.shown = append(temps.shown, dir+"/", shown+": ", dir, shown)
	temps.mu.Unlock()
	if err = os.MkdirAll(filepath.Dir(dir), 0o777); err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	return dir, func() { temps.remove(dir) }, err
}

// show replaces the names of directories that TempDir made in a message.
func (t *tempSet) show(message string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.NewReplacer(t.shown...).Replace(message)
}

var atSignal atomic.Pointer[func()]

// AtSignal registers a function to call before a signal ends the process. The function must not
// block. A second call of AtSignal replaces the function.
func AtSignal(f func()) { atSignal.Store(&f) }

// removeTempsOnSignal makes signals remove the temporary files before they end the process.
func removeTempsOnSignal() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		sig := <-c
		if f := atSignal.Load(); f != nil {
			(*f)()
		}
		temps.mu.Lock() // held to the end: no file is created after this
		for name := range temps.names {
			gone := name + ".gone"
			os.Rename(name, gone) // so that no file can be created below the old name
			// Another thread may already be creating a file in the directory.
			for try := 0; os.RemoveAll(gone) != nil && try < 100; try++ {
			}
		}
		os.Exit(128 + int(sig.(syscall.Signal)))
	}()
}
