// Package shipped finds kernels and modules in what is shipped: directories such as
// /lib/modules/RELEASE, packages, and single files, compressed or not. Kernel and modules may be in
// different inputs.
//
//	shipped.go  finds the files in the inputs
//	names.go    which of them are kernels and modules
//	collect.go  unpacks them on several threads, and keeps what package loader needs
//	pair.go     decides which kernel a module is for
//	judge.go    finds out what that kernel does with the module
//
// In a directory or package, names decide which files are read: *.ko for modules, vmlinuz*,
// vmlinux*, Image* and bzImage* for kernels. Files below a directory lib/debug are skipped, because
// the kernel never loads them. Links aren't followed: either they lead to a file that is read
// anyway, or out of the input.
package shipped

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/kernelimage"
	"github.com/rules-btf/rules_btf/internal/format/packages"
	"github.com/rules-btf/rules_btf/internal/kernel/loader"
	"github.com/rules-btf/rules_btf/internal/support/mapped"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Options says how Find works.
type Options struct {
	Jobs            int // threads
	MaxDecompressed int // bytes; see kernelimage.Unpack
}

// Found are the kernels and modules in the inputs, sorted by the paths of their files.
type Found struct {
	Kernels []*loader.Kernel
	Modules []Result
	Links   []string // modules that are links, and weren't checked
}

const (
	// maxFile limits the size of a file in a directory or package, in bytes.
	maxFile = 1 << 30
	// usualRatio says how much larger than a package its content may be without --max-decompressed.
	usualRatio = 32
	// keepMapped is how many bytes of a package are read before its pages are unmapped. A package's
	// pages count as memory that the process uses.
	keepMapped = 16 << 20
)

// Find reads all inputs, and finds out what happens to the modules. A module that can't be read is
// in Found nevertheless, because the verdict about it is clear. Other errors name the file. They
// don't depend on the number of threads.
func Find(inputs []string, opts Options) (*Found, error) {
	c := newCollector(opts)
	err := c.readAll(inputs)
	found, other := c.finish()
	if err != nil {
		return nil, err
	}
	return found, other
}

// Is reports whether a path is a directory, or a file that only Find can read: a package, a
// kernel's image, a compressed file or a module.
func Is(name string) bool {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return false
	case info.IsDir():
		return true
	case !info.Mode().IsRegular() || info.Size() == 0:
		return false
	case elf.IsModule(name):
		return true
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, min(info.Size(), kernelimage.HeadSize))
	_, err = io.ReadFull(f, head)
	return err == nil && (packages.Begins(head) || kernelimage.IsImage(head))
}

func (c *collector) readAll(inputs []string) error {
	for _, input := range inputs {
		info, err := os.Stat(input)
		if err != nil {
			return err
		}
		c.files, c.debug = 0, 0
		if info.IsDir() {
			err = c.readTree(input)
		} else {
			err = c.readInput(input, info)
		}
		if err != nil {
			return err
		}
		if c.files == 0 {
			return c.nothing(input)
		}
		c.settle()
	}
	return nil
}

// readTree reads a directory.
func (c *collector) readTree(dir string) error {
	root, err := filepath.EvalSymlinks(dir) // WalkDir doesn't follow links
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil || d.IsDir() || !c.wanted(filepath.ToSlash(rel)) {
			return err
		}
		label := filepath.Join(dir, rel)
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			c.link(label)
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%s: neither a regular file nor a link", label)
		}
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		return c.read(label, label, info.Size(), f)
	})
}

// readInput reads a file that is a package, a kernel or a module.
func (c *collector) readInput(name string, info os.FileInfo) error {
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
	data, err := mapped.Map(f, info, name, 0, int(info.Size()), unix.MAP_PRIVATE)
	if err != nil { // for example, files in /sys can't be mapped
		c.files++
		return c.read(name, name, info.Size(), f)
	}
	defer mapped.Unmap(data)
	if !packages.Is(data) {
		c.files++
		return c.read(name, name, info.Size(), f)
	}
	opts := packages.Options{Jobs: c.opts.Jobs,
		MaxDecompressed: max(usualRatio*int64(len(data)), int64(c.opts.MaxDecompressed))}
	read := int64(0)
	err = packages.Each(data, opts, func(f packages.File) error {
		if read += f.Size; read > keepMapped {
			read = 0
			_ = unix.Madvise(data, unix.MADV_DONTNEED) // what is needed again is mapped again
		}
		label := name + ": " + f.Name
		switch {
		case !c.wanted(f.Name):
			return nil
		case f.Link != "":
			c.link(label)
			return nil
		}
		return c.read(label, f.Name, f.Size, f.Reader)
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
func (c *collector) read(label, name string, size int64, r io.Reader) error {
	if size > maxFile {
		return &fileError{fmt.Errorf("%s: it has %d bytes; at most %d are read", label, size, maxFile)}
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(r, data); err != nil {
		return &fileError{fmt.Errorf("%s: %w", label, err)}
	}
	c.add(file{label, name, data})
	if c.unsettled >= maxUnsettled {
		c.settle()
	}
	return nil
}

func (c *collector) link(label string) {
	if isModule(label) {
		c.found.Links = append(c.found.Links, label)
	}
}
