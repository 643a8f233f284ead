package archive

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// fileMode is the mode of the files in /sys/kernel/btf.
const fileMode = 0o444

// Entry is a file of an archive.
type Entry struct {
	Name string
	Data []byte
}

// entries returns the files of an archive, including the manifest, sorted by name.
func (a *Archive) entries() ([]Entry, error) {
	manifest, err := a.Manifest.Encode()
	if err != nil {
		return nil, err
	}
	list := []Entry{{ManifestName, manifest}}
	for i, data := range a.contents {
		list = append(list, Entry{a.Manifest.Files[i].Name, data})
	}
	slices.SortFunc(list, func(x, y Entry) int { return strings.Compare(x.Name, y.Name) })
	return list, nil
}

// WriteDir writes the archive to an existing directory.
func (a *Archive) WriteDir(dir string) error {
	list, err := a.entries()
	if err != nil {
		return err
	}
	for _, e := range list {
		path := filepath.Join(dir, e.Name)
		if err := os.WriteFile(path, e.Data, 0o600); err != nil {
			return err
		}
		if err := os.Chmod(path, fileMode); err != nil { // regardless of the umask
			return err
		}
	}
	return nil
}

// WriteTar writes the archive as a tar file (ustar), compressed as the ending of its name implies
// (see TarEnding). All files get the same time (in 1970), user 0 and mode 0444, so the output
// depends neither on the machine nor on the time.
// Rule: archive of a release: tar files, their compression.
func (a *Archive) WriteTar(w io.Writer, ending string) error {
	list, err := a.entries()
	if err != nil {
		return err
	}
	return WriteTar(w, ending, list)
}

// compressors maps each ending to a compressor. No compressor writes a name, a time or a user.
var compressors = map[string]func(io.Writer) (io.WriteCloser, error){
	".tar":    func(w io.Writer) (io.WriteCloser, error) { return uncompressed{w}, nil },
	".tar.gz": func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
	".tar.xz": func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) },
	".tar.zst": func(w io.Writer) (io.WriteCloser, error) {
		// With several threads, the output would depend on their number.
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	},
}

type uncompressed struct{ io.Writer }

func (uncompressed) Close() error { return nil }

// TarEnding returns the ending of a name if it is one that WriteTar accepts (.tar, .tar.gz, .tar.xz
// or .tar.zst), otherwise "".
func TarEnding(name string) string {
	for ending := range compressors {
		if strings.HasSuffix(name, ending) {
			return ending
		}
	}
	return ""
}

// WriteTar writes a tar archive (ustar) of entries in the given order, with the compression that
// the ending implies. The ending must be one that TarEnding returns. All files get the same time
// (in 1970), user 0 and mode 0444, so the output depends neither on the machine nor on the time.
func WriteTar(w io.Writer, ending string, entries []Entry) error {
	z, err := compressors[ending](w)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, e := range entries {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: e.Name, Size: int64(len(e.Data)),
			Mode: fileMode, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
		if err := t.WriteHeader(header); err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		if _, err := t.Write(e.Data); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}
