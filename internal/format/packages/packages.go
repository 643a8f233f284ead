// Package packages reads the files in packages of distributions: .deb, .rpm, and tar archives
// (compressed or not), such as the packages of Arch Linux.
//
//	packages.go  which form a file has; what all forms have in common
//	deb.go       an ar archive (deb(5)), in which a tar archive has the files
//	rpm.go       headers (RPM's manual, "Package format V4"), and then a cpio archive
//
// Files are read one after the other, and never written to disk. Input is untrusted: the number of
// files and their decompressed sizes are limited, and a path that leads out of the package is an
// error.
package packages

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/cavaliergopher/cpio"

	"github.com/rules-btf/rules_btf/internal/format/kernelimage"
)

// maxFiles is the largest number of files in a package. A distribution's kernel has about 10,000.
const maxFiles = 1 << 20

// File is a file in a package.
type File struct {
	Name string // the path in the package, without a leading / or ./
	Size int64  // in bytes
	// Link is where a symbolic or hard link leads, or "" if the file isn't a link. Links have no
	// content. Hard says that the link is a hard link; Link is then a path in the package.
	Link string
	Hard bool
	// Special says that the file is neither a regular file, a link nor a directory.
	Special bool
	io.Reader
}

// tarHead is how many bytes suffice to recognise a tar archive.
const tarHead = 512

// Is reports whether data, the content of a file, is a package. For a compressed file, the
// beginning is decompressed.
func Is(data []byte) bool { return isDeb(data) || isRPM(data) || isTar(data) }

// Begins reports whether a file that begins with head is a package. A package that is compressed as
// a whole isn't recognised.
func Begins(head []byte) bool { return isDeb(head) || isRPM(head) || kernelimage.IsTar(head) }

func isTar(data []byte) bool {
	r, err := kernelimage.NewReader(data)
	if err != nil {
		return false
	}
	defer r.Close()
	head := make([]byte, tarHead)
	_, err = io.ReadFull(r, head)
	return err == nil && kernelimage.IsTar(head)
}

// Each calls visit for each file in a package that isn't a directory, in the order of the package.
// data is the package, for which Is returns true. The decompressed package, and the files that are
// read although it has no bytes for their holes, count towards the budget. If visit returns an
// error, Each returns that error.
func Each(data []byte, budget *kernelimage.Budget, visit func(File) error) error {
	v := &visitor{visit: visit, budget: budget}
	switch {
	case isDeb(data):
		return v.deb(data)
	case isRPM(data):
		return v.rpm(data)
	}
	return v.packedTar(data)
}

type visitor struct {
	visit  func(File) error
	budget *kernelimage.Budget
	files  int
}

// open decompresses data, if it is compressed. It must be closed.
func (v *visitor) open(data []byte) (io.ReadCloser, error) {
	r, err := kernelimage.NewReader(data)
	if err != nil {
		return nil, err
	}
	return &limited{r, v.budget}, nil
}

// limited is a reader that fails when the budget is spent.
type limited struct {
	io.ReadCloser
	budget *kernelimage.Budget
}

// chunk is how many bytes are read before they count, at most.
const chunk = 1 << 20

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p[:min(len(p), chunk)])
	if over := l.budget.Spend(n); over != nil {
		return 0, over
	}
	return n, err
}

// file calls visit for a file with the path name.
func (v *visitor) file(f File) error {
	if v.files++; v.files > maxFiles {
		return fmt.Errorf("the package has more than %d files", maxFiles)
	}
	name, err := inside(f.Name)
	if err != nil {
		return err
	}
	f.Name = name
	return v.visit(f)
}

// inside returns a path in a package without a leading "./". It is an error if the path is absolute
// or leads out of the package.
// Rule: paths in packages that lead out.
func inside(name string) (string, error) {
	clean := path.Clean(name)
	if path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") {
		return "", fmt.Errorf("the path %q leads out of the package; don't install this package", name)
	}
	return clean, nil
}

// packedTar reads a tar archive, which may be compressed.
func (v *visitor) packedTar(data []byte) error {
	r, err := v.open(data)
	if err != nil {
		return err
	}
	defer r.Close()
	return v.tar(r)
}

func (v *visitor) tar(in io.Reader) error {
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("tar archive: %w", damaged(err))
		}
		f := File{Name: h.Name, Size: h.Size, Reader: r}
		switch h.Typeflag {
		case tar.TypeDir, tar.TypeXGlobalHeader:
			if _, err := inside(h.Name); err != nil {
				return err
			}
			continue
		case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse:
			if IsSparse(h) {
				f.Reader = &limited{io.NopCloser(r), v.budget}
			}
		case tar.TypeLink, tar.TypeSymlink:
			f.Link, f.Hard = h.Linkname, h.Typeflag == tar.TypeLink
		default:
			f.Special = true
		}
		if err := v.file(f); err != nil {
			return err
		}
	}
}

// IsSparse reports whether a file in a tar archive has holes, for which the archive has no bytes.
// Rule: sparse files in packages. Source: GNU tar's manual, "Storing Sparse Files"
func IsSparse(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return h.Typeflag == tar.TypeGNUSparse
}

const again = "; fetch the package again"

// damaged replaces an error that only says that bytes are missing, and adds advice to others that
// say that the archive is wrong.
func damaged(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("truncated" + again)
	}
	if errors.Is(err, tar.ErrHeader) || errors.Is(err, cpio.ErrHeader) {
		return fmt.Errorf("%w"+again, err)
	}
	return err
}
