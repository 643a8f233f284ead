// Package archive makes archives of the BTF of a kernel release: the files of /sys/kernel/btf, and
// a manifest that lists the bases and the object files of each file.
//
// Split BTF refers to its base only by numbers, so a wrong base can't be detected from the BTF. The
// manifest has the SHA-256 of each base. Build makes an archive; Check compares an archive with its
// manifest. docs/manifest.md describes the manifest.
package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

const (
	// ManifestName is the name of the manifest, in the same directory as the other files.
	ManifestName = "manifest.json"
	// Vmlinux is the name of the file with the kernel's own BTF.
	Vmlinux = "vmlinux"

	manifestVersion = 1
	maxManifest     = 64 << 20 // bytes
)

// Manifest describes an archive.
// Rule: archive of a release: its manifest. docs/manifest.md has the format.
type Manifest struct {
	Version int    `json:"version"`            // version of this format
	Release string `json:"release"`            // as uname -r prints it
	BuildID string `json:"build_id,omitempty"` // build id of vmlinux, in hexadecimal
	Files   []File `json:"files"`              // sorted by name
}

// File describes a file of an archive.
type File struct {
	Name   string `json:"name"` // vmlinux, or the name of a module
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`  // in bytes
	Bases  []Base `json:"bases"` // the files on which it is based, the deepest base first

	StartID      uint32 `json:"start_id"`      // the id of the file's first type
	StringOffset uint32 `json:"string_offset"` // the offset of the file's first string
	Types        int    `json:"types"`         // number of types
	Conflicts    int    `json:"conflicts"`     // number of tags that this file defines again

	Path string `json:"path"` // path in /lib/modules/RELEASE; "" if unknown
}

// Base describes a base of a file, as that base was when the file was made.
type Base struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// Encode returns the content of the manifest file.
func (m *Manifest) Encode() ([]byte, error) {
	var b bytes.Buffer
	err := message.WriteJSON(&b, m)
	return b.Bytes(), err
}

// readManifest reads a manifest. It checks that all fields are present, but not their values.
func readManifest(r io.Reader) (*Manifest, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
	if err != nil {
		return nil, err
	}
	return parseManifest(data)
}

const remake = "make the archive again"

func notManifest(err error) error {
	return fmt.Errorf("not a manifest: %w; specify the one that btfdedup archive wrote", err)
}

func parseManifest(data []byte) (*Manifest, error) {
	if len(data) > maxManifest {
		return nil, fmt.Errorf("the manifest has more than %d bytes", maxManifest)
	}
	var version struct{ Version *int }
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, notManifest(err)
	}
	if version.Version == nil {
		return nil, notManifest(errors.New("it has no version"))
	}
	if *version.Version != manifestVersion {
		return nil, fmt.Errorf("the manifest has version %d, but this tool reads version %d; "+
			remake, *version.Version, manifestVersion)
	}
	m := &Manifest{}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, notManifest(err)
	}
	if m.Release == "" {
		return nil, fmt.Errorf("damaged manifest: it has no release; " + remake)
	}
	return m, checkFields(data)
}

// checkFields checks that fields are present, because a missing one would be read as a zero value.
func checkFields(data []byte) error {
	var m struct{ Files []map[string]any }
	if err := json.Unmarshal(data, &m); err != nil {
		return notManifest(err)
	}
	if m.Files == nil {
		return fmt.Errorf("damaged manifest: it has no files; " + remake)
	}
	for i, f := range m.Files {
		for _, name := range []string{"name", "sha256", "size", "bases", "start_id", "string_offset",
			"types", "conflicts", "path"} {
			if f[name] == nil {
				return fmt.Errorf("damaged manifest: file number %d has no %s; "+remake, i+1, name)
			}
		}
	}
	return nil
}
