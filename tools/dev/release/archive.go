package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// packPrograms writes the archive of a platform: its programs of all, the files of the directory
// manuals, and the licence.
func (s *source) packPrograms(dir, platform string, all []program, manuals string) error {
	license, err := s.read("LICENSE")
	if err != nil {
		return err
	}
	return writeGzip(filepath.Join(dir, s.name("-"+platform+".tar.gz")), func(w io.Writer) error {
		archive := tar.NewWriter(w)
		if err := addFile(archive, "LICENSE", 0o644, license); err != nil {
			return err
		}
		for _, p := range all {
			if p.platform != platform {
				continue
			}
			data, err := os.ReadFile(p.path)
			if err != nil {
				return err
			}
			if err := addFile(archive, p.name, 0o755, data); err != nil {
				return err
			}
		}
		if err := addTree(archive, manuals); err != nil {
			return err
		}
		return archive.Close()
	})
}

// addFile adds a file without time and owner.
func addFile(archive *tar.Writer, name string, mode int64, data []byte) error {
	header := &tar.Header{Name: name, Mode: mode, Size: int64(len(data)), Format: tar.FormatUSTAR}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err := archive.Write(data)
	return err
}

// packSource writes the archive of the sources, which a Bazel registry names.
func (s *source) packSource(dir string) error {
	data, err := s.git("-c", "tar.umask=0022", "archive", "--format=tar",
		"--prefix="+s.name("")+"/", s.commit)
	if err != nil {
		return err
	}
	return writeGzip(filepath.Join(dir, s.name(".tar.gz")), func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(data))
		return err
	})
}

func writeGzip(name string, write func(io.Writer) error) error {
	var data bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&data, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := write(compressed); err != nil {
		return err
	}
	if err := compressed.Close(); err != nil {
		return err
	}
	return os.WriteFile(name, data.Bytes(), 0o644)
}

// writeSums writes SHA256SUMS, which "sha256sum --check" reads, of all files in a directory.
func writeSums(dir string) error {
	files, err := os.ReadDir(dir) // sorted
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, file := range files {
		sum, err := sha256File(filepath.Join(dir, file.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%s  %s\n", sum, file.Name())
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// sha256File is the checksum of a file, in hexadecimal digits.
func sha256File(name string) (string, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(data)), nil
}
