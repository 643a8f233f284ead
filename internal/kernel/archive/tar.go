package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/rules-btf/rules_btf/internal/format/packages"
)

const (
	maxTar        = 8 << 30 // bytes, uncompressed; a distribution's kernel has about 100 MB
	maxTarMembers = 1 << 16 // files; a distribution's kernel has about 5000
	maxTarWindow  = 1 << 27 // bytes; used by zstd level 22

	zstdMagic  = "\x28\xb5\x2f\xfd"
	ustarMagic = "ustar" // at ustarAt in the first header, for the formats of POSIX and GNU
	ustarAt    = 257
)

// tarFiles are the files of a tar archive, read in place.
type tarFiles struct {
	file    *os.File
	names   []string // in the order of the archive
	members map[string]member
}

// member is the location of a file in a tar archive, in bytes.
type member struct {
	at, size int64
	regular  bool
}

// openTar opens a tar archive. It returns nil if the file isn't a tar archive. A zstd file is
// decompressed into a temporary file, so that the files in the archive can be read in any order.
// Errors name the file.
func openTar(name string) (*tarFiles, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	kind, err := tarKind(f, name)
	if err == nil && kind == ".tar.zst" {
		packed := f
		f, err = unpackZstd(packed)
		packed.Close()
	}
	if err != nil || kind == "" {
		f.Close()
		return nil, wrap(name, err)
	}
	t := &tarFiles{file: f}
	if err := t.readIndex(); err != nil {
		f.Close()
		return nil, wrap(name, err)
	}
	return t, nil
}

func wrap(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// tarKind returns .tar, .tar.zst, or "" for a file that is neither. It checks the first bytes and
// the name, so that a damaged archive isn't read as a manifest.
func tarKind(f *os.File, name string) (string, error) {
	head := make([]byte, ustarAt+len(ustarMagic))
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return "", err
	}
	head = head[:n]
	for _, kind := range []struct {
		suffix, magic string
		at            int
	}{{".tar.zst", zstdMagic, 0}, {".tar", ustarMagic, ustarAt}} {
		is := len(head) > kind.at && bytes.HasPrefix(head[kind.at:], []byte(kind.magic))
		if is || strings.HasSuffix(name, kind.suffix) {
			return kind.suffix, nil
		}
	}
	return "", nil
}

// unpackZstd decompresses a file into a temporary file. The temporary file has no name, so it
// disappears when it is closed. If there is an error, the file may be nil.
func unpackZstd(packed io.Reader) (*os.File, error) {
	z, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxWindow(maxTarWindow))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	f, err := os.CreateTemp("", "btfdedup-*.tar")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return f, err
	}
	n, err := io.Copy(f, io.LimitReader(z, maxTar+1))
	var full *fs.PathError
	switch {
	case errors.As(err, &full) && full.Op == "write":
		return f, fmt.Errorf("temporary file (set TMPDIR to use a different directory): %w", err)
	case err != nil:
		return f, fmt.Errorf("zstd fails after %d bytes: %w; is the file damaged? "+remake, n, err)
	case n > maxTar:
		return f, fmt.Errorf("the tar archive has more than %d bytes", int64(maxTar))
	}
	return f, nil
}

func (t *tarFiles) readIndex() error {
	in := io.NewSectionReader(t.file, 0, maxTar)
	r := tar.NewReader(in)
	t.members = map[string]member{}
	for {
		h, err := r.Next()
		at, _ := in.Seek(0, io.SeekCurrent)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("tar archive at offset %#x: %w; is the file damaged? "+remake, at, err)
		}
		name := path.Clean(h.Name)
		if name == "." {
			continue // written by tar -C DIR .
		}
		if _, ok := t.members[name]; ok {
			return fmt.Errorf("the tar archive contains %q twice; "+remake, name)
		}
		if len(t.names) == maxTarMembers {
			return fmt.Errorf("the tar archive has more than %d files", maxTarMembers)
		}
		t.names = append(t.names, name)
		t.members[name] = member{at, h.Size, h.Typeflag == tar.TypeReg && !packages.IsSparse(h)}
	}
}

func (t *tarFiles) list() ([]string, error) { return t.names, nil }

func (t *tarFiles) open(name string) (io.ReadCloser, int64, error) {
	m, ok := t.members[name]
	switch {
	case !ok:
		return nil, 0, errMissing
	case !m.regular:
		return nil, 0, errNotRegular
	}
	return io.NopCloser(io.NewSectionReader(t.file, m.at, m.size)), m.size, nil
}

func (t *tarFiles) manifest() (*Manifest, error) {
	r, _, err := t.open(ManifestName)
	if errors.Is(err, errMissing) {
		err = errors.New("the tar archive has no such file at its top level; pass an " +
			"archive from btfdedup archive")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestName, err)
	}
	m, err := readManifest(r)
	return m, wrap(ManifestName, err)
}
