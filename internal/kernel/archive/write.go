package archive

import (
	"archive/tar"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// fileMode is that of the files in /sys/kernel/btf.
const fileMode = 0o444

type entry struct {
	name string
	data []byte
}

// entries are the files of an archive and its manifest, by name.
func (a *Archive) entries() ([]entry, error) {
	manifest, err := a.Manifest.Encode()
	if err != nil {
		return nil, err
	}
	list := []entry{{ManifestName, manifest}}
	for i, data := range a.contents {
		list = append(list, entry{a.Manifest.Files[i].Name, data})
	}
	slices.SortFunc(list, func(x, y entry) int { return strings.Compare(x.name, y.name) })
	return list, nil
}

// WriteDir writes the files to an existing directory.
func (a *Archive) WriteDir(dir string) error {
	list, err := a.entries()
	if err != nil {
		return err
	}
	for _, e := range list {
		path := filepath.Join(dir, e.name)
		if err := os.WriteFile(path, e.data, 0o600); err != nil {
			return err
		}
		if err := os.Chmod(path, fileMode); err != nil { // whatever the umask
			return err
		}
	}
	return nil
}

// WriteTar writes a tar archive (ustar). All files are of 1970, user 0 and mode 0444, so the bytes
// depend neither on the machine nor on the time.
func (a *Archive) WriteTar(w io.Writer) error {
	list, err := a.entries()
	if err != nil {
		return err
	}
	t := tar.NewWriter(w)
	for _, e := range list {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Size: int64(len(e.data)),
			Mode: fileMode, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
		if err := t.WriteHeader(header); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		if _, err := t.Write(e.data); err != nil {
			return err
		}
	}
	return t.Close()
}

// WriteTarZstd writes the archive of WriteTar, compressed by one thread, so that the bytes don't
// depend on the number of threads.
func (a *Archive) WriteTarZstd(w io.Writer) error {
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	if err := a.WriteTar(z); err != nil {
		return err
	}
	return z.Close()
}
