// Package record is what the matrix keeps of a kernel: what the program in pahole measured at each
// call that encodes BTF.
package record

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/rules-btf/rules_btf/e2e/internal/measure"
)

// Directory is the environment variable that names the directory for the records; if it is empty,
// nothing is recorded. Ours names the program that takes pahole's place.
const (
	Directory = "MATRIX_CALLS"
	Ours      = "MATRIX_OURS"
)

// A Call is one call by Kbuild. What the two programs made of the file is beside the record:
// File.ours.btf and File.pahole.btf, and with .base.btf at their ends the distilled bases.
type Call struct {
	File         string   // its name, without a directory
	Args         []string // as Kbuild gave them
	Ours, Pahole measure.Run
	// What the two wrote to stdout and stderr.
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
