package shipped

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/rules-btf/rules_btf/internal/format/kernelimage"
	"github.com/rules-btf/rules_btf/internal/format/packages"
	"github.com/rules-btf/rules_btf/internal/kernel/loader"
	"github.com/rules-btf/rules_btf/internal/support/mapped"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// input is a directory or file that Find reads.
type input struct {
	name    string
	opts    Options
	pool    *pool
	earlier []*input      // the inputs before this one
	done    chan struct{} // closed when this input has been read

	// files is the number of kernels and modules. debug is the number of those that are skipped,
	// because they have only debugging information.
	files, debug int
	links        []string // modules that are links

	budget    kernelimage.Budget
	unsettled int            // files that were added since the last call of settle
	inFlight  sync.WaitGroup // files that were added and are not yet collected

	mu      sync.Mutex // guards the following fields while files are in flight
	kernels []kernel
	waiting []*loader.Module // not yet judged
	wrong   []problem
	judged  []Result
}

const (
	// maxFile limits the size of a file in a directory or package, in bytes.
	maxFile = 1 << 30
	// keepMapped is how many bytes of a package are read before its pages are released, because they
	// count as memory of the process.
	keepMapped = 16 << 20
)

func (in *input) readAll() error {
	info, err := os.Stat(in.name)
	if err != nil {
		return err
	}
	if info.IsDir() {
		err = in.readTree()
	} else {
		err = in.readFile(info)
	}
	in.inFlight.Wait()
	if over := in.budget.Spend(0); over != nil { // whatever else a thread came upon before
		return fmt.Errorf("%s: %w", in.name, over)
	}
	if err != nil {
		return err
	}
	if in.files == 0 {
		return in.nothing()
	}
	in.settle()
	in.settleWithEarlier()
	return nil
}

// limit sets the budget, for an input with size bytes.
func (in *input) limit(size int64) {
	in.budget.Limit = int64(kernelimage.Limit(int(size), in.opts.MaxDecompressed))
}

// readTree reads a directory.
func (in *input) readTree() error {
	root, err := filepath.EvalSymlinks(in.name) // WalkDir doesn't follow links
	if err != nil {
		return err
	}
	var names []string // relative to the directory
	size := int64(0)
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil || d.IsDir() || !in.wanted(filepath.ToSlash(rel)) {
			return err
		}
		label := filepath.Join(in.name, rel)
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			in.link(label)
			return nil
		case !d.Type().IsRegular():
			return in.special(label, label)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		names, size = append(names, rel), size+info.Size()
		return nil
	})
	if err != nil {
		return err
	}
	in.limit(size)
	for _, rel := range names {
		if err := in.readFrom(filepath.Join(root, rel), filepath.Join(in.name, rel)); err != nil {
			return err
		}
	}
	return nil
}

// readFrom reads a file in a directory.
func (in *input) readFrom(file, label string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return in.read(label, label, info.Size(), f)
}

// readFile reads a file that is a package, a kernel or a module.
func (in *input) readFile(info os.FileInfo) error {
	name := in.name
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: neither a regular file nor a directory", name)
	}
	if info.Size() == 0 {
		return fmt.Errorf("%s: %w", name, message.Empty("a package, a kernel or a module"))
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	in.limit(info.Size())
	data, err := mapped.Map(f, info, name, 0, int(info.Size()), unix.MAP_PRIVATE)
	if err != nil { // for example, files in /sys can't be mapped
		in.files++
		return in.read(name, name, info.Size(), f)
	}
	defer mapped.Unmap(data)
	if !packages.Is(data) {
		in.files++
		return in.read(name, name, info.Size(), f)
	}
	read := int64(0)
	err = packages.Each(data, &in.budget, func(f packages.File) error {
		if read += f.Size; read > keepMapped {
			read = 0
			_ = unix.Madvise(data, unix.MADV_DONTNEED) // a later access reads the page again
		}
		label := name + ": " + f.Name
		switch {
		case !in.wanted(f.Name):
			return nil
		case f.Special:
			return in.special(label, f.Name)
		case f.Hard && !reads(f.Link):
			return &fileError{fmt.Errorf("%s: it is a hard link to %s, which isn't read, because its "+
				"path isn't that of a module or kernel; unpack the package, and pass the file itself",
				label, f.Link)}
		case f.Link != "":
			in.link(label)
			return nil
		}
		return in.read(label, f.Name, f.Size, f.Reader)
	})
	var readable *fileError
	if err != nil && !errors.As(err, &readable) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return err
}

// fileError is an error that names the file.
type fileError struct{ error }

// read reads a file, and passes it to the threads that unpack it.
func (in *input) read(label, name string, size int64, r io.Reader) error {
	if size > maxFile {
		return &fileError{fmt.Errorf("%s: it has %d bytes; at most %d are read", label, size, maxFile)}
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(r, data); err != nil {
		return &fileError{fmt.Errorf("%s: %w", label, err)}
	}
	in.inFlight.Add(1)
	in.pool.queue <- func() { in.collect(file{label, name, data}) }
	if in.unsettled++; in.unsettled >= maxUnsettled {
		in.settle()
		if len(in.waiting) > maxWaiting {
			in.settleWithEarlier()
		}
	}
	return nil
}

// special adds a module, which no kernel can load, because it is a device, for example. It is an
// error if a kernel is such a file.
// Rule: packages: modules that are neither files nor links.
func (in *input) special(label, name string) error {
	err := fmt.Errorf("%s: neither a regular file nor a link", label)
	if !isModule(name) {
		return &fileError{err}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.waiting = append(in.waiting, loader.Damaged(label, name, err))
	return nil
}

func (in *input) link(label string) {
	if isModule(label) {
		in.links = append(in.links, label)
	}
}
