// Package archive keeps the BTF of a kernel release together: the files of /sys/kernel/btf, and a
// manifest with the base and the objects of each.
//
// Split BTF refers to its base only by numbers, so a wrong base can't be recognized. The manifest
// has the SHA-256 of each base. Build makes an archive, Check compares one with its manifest.
// docs/manifest.md describes the manifest.
package archive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

const (
	// ManifestName is the name of the manifest's file, which is beside the others.
	ManifestName = "manifest.json"
	// Vmlinux is the name of the kernel's own BTF.
	Vmlinux = "vmlinux"
	// SharedBase is the name of split BTF between the kernel's own and the modules'. No module has a
	// name with a hyphen.
	SharedBase = "shared-base"

	manifestVersion = 1
	maxManifest     = 64 << 20 // bytes
)

// Manifest describes an archive.
type Manifest struct {
	Version int    `json:"version"`            // of this format
	Release string `json:"release"`            // as uname -r says
	BuildID string `json:"build_id,omitempty"` // of vmlinux, in hexadecimal
	// SharedBase is the name of the file with the types that modules share and are based on; "" if
	// there is none. Such an archive is for tools that read chains of bases, not for the kernel.
	SharedBase string `json:"shared_base,omitempty"`
	Files      []File `json:"files"` // by name
}

// File describes a file of an archive.
type File struct {
	Name   string `json:"name"` // vmlinux, or the name of a module
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`  // in bytes
	Bases  []Base `json:"bases"` // on which it is based, the deepest first

	StartID      uint32 `json:"start_id"`      // its own first type id
	StringOffset uint32 `json:"string_offset"` // of its first string
	Types        int    `json:"types"`         // how many it has
	Conflicts    int    `json:"conflicts"`     // tags with another definition in it or its bases

	Path    string   `json:"path"`              // of a module, in /lib/modules/RELEASE; "" if unknown
	Objects []string `json:"objects,omitempty"` // of which a module was linked
}

// Base is a file on which another one is based, as it was when that was made.
type Base struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// Encode returns the manifest's file.
func (m *Manifest) Encode() ([]byte, error) {
	var b bytes.Buffer
	err := message.WriteJSON(&b, m)
	return b.Bytes(), err
}

// readManifest reads a manifest's file. It checks that all fields are there, but not their values.
func readManifest(r io.Reader) (*Manifest, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
	if err != nil {
		return nil, err
	}
	return parseManifest(data)
}

func parseManifest(data []byte) (*Manifest, error) {
	if len(data) > maxManifest {
		return nil, fmt.Errorf("a manifest of more than %d bytes", maxManifest)
	}
	var version struct{ Version *int }
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, fmt.Errorf("not a manifest: %w", err)
	}
	if version.Version == nil {
		return nil, fmt.Errorf("not a manifest: it has no version")
	}
	if *version.Version != manifestVersion {
		return nil, fmt.Errorf("a manifest of version %d; this tool reads version %d",
			*version.Version, manifestVersion)
	}
	m := &Manifest{}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("not a manifest: %w", err)
	}
	if m.Release == "" {
		return nil, fmt.Errorf("damaged manifest: it has no release; make the archive again")
	}
	return m, checkFields(data)
}

// checkFields checks that a manifest has the fields whose absence would look like a value.
func checkFields(data []byte) error {
	var m struct{ Files []map[string]any }
	if err := json.Unmarshal(data, &m); err != nil {
		return fmt.Errorf("not a manifest: %w", err)
	}
	if m.Files == nil {
		return fmt.Errorf("damaged manifest: it has no files; make the archive again")
	}
	for i, f := range m.Files {
		for _, name := range []string{"name", "sha256", "size", "bases", "start_id", "string_offset",
			"types", "conflicts", "path"} {
			if f[name] == nil {
				return fmt.Errorf("damaged manifest: file %d of %d has no %s; make the archive again", i+1,
					len(m.Files), name)
			}
		}
	}
	return nil
}
