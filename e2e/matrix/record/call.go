// Package record reads and writes the records of one of the matrix's kernels: what
// e2e/matrix/pahole measured at each call that encodes BTF.
package record

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/rules-btf/rules_btf/e2e/internal/measure"
)

// Directory is the environment variable that names the directory for the records; if it is empty,
// nothing is recorded. Ours is the environment variable that names the program that runs in
// pahole's place.
const (
	Directory = "MATRIX_CALLS"
	Ours      = "MATRIX_OURS"
)

// A Call is one call of pahole by Kbuild. The BTF that the two programs made is beside the record,
// in File.ours.btf and File.pahole.btf. Distilled bases are in File.ours.base.btf and
// File.pahole.base.btf.
type Call struct {
	File         string   // the ELF file's name, without a directory
	Args         []string // as Kbuild gave them
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

// ReadCalls reads all calls in dir, in the order of the files' names.
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
