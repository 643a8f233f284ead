// Package record reads and writes records of a kernel build in e2e/matrix. A record has what
// e2e/matrix/pahole measured when Kbuild called it to encode BTF.
package record

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/rules-btf/rules_btf/e2e/internal/measure"
)

// Directory and Ours are environment variables. Directory names the directory for the records; if
// the variable isn't set or is empty, nothing is recorded. Ours names the program that runs in
// pahole's place.
const (
	Directory = "MATRIX_CALLS"
	Ours      = "MATRIX_OURS"
)

// A Call is one call of pahole by Kbuild. The BTF from the two programs is in the same directory as
// the record, in File.ours.btf and File.pahole.btf. Distilled bases are in File.ours.base.btf and
// File.pahole.base.btf.
type Call struct {
	File         string   // the ELF file's name without the directory
	Args         []string // Kbuild's arguments
	Ours, Pahole measure.Run
	// What the two programs wrote to stdout and stderr.
	OursSaid, PaholeSaid string
}

// Write writes the record into dir.
func (c Call) Write(dir string) error {
	b, err := json.MarshalIndent(c, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, c.File+".json"), append(b, '\n'), 0o666)
}

// ReadCalls reads all records in dir, in the order of their file names.
func ReadCalls(dir string) ([]Call, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	list := make([]Call, len(paths))
	for i, path := range paths {
		b, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(b, &list[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}
