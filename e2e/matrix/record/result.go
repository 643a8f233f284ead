package record

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// A Result is what the tests saw of a kernel. They write it when all of them have passed.
type Result struct {
	Compiler string // as the kernel's configuration has it
	Release  string // of the kernel, as uname -r prints it
	// Names of types, functions and variables that ours and pahole's BTF define alike, and
	// differences, each of which has a reason: of vmlinux, and of all modules together.
	Vmlinux, Modules Compared
	IDs              int      // entries of .BTF_ids that were looked up
	Absent           []string // what they name, but neither our BTF nor pahole's has
	Loaded           []string // modules
	Ran              []string // programs of BPF
	Rebuilt          []string // how the BTF was made again, to the same bytes
}

// Compared counts names.
type Compared struct{ Equal, Explained int }

const resultFile = "result.json"

// Write writes the result into the directory of a kernel.
func (r *Result) Write(dir string) error {
	b, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, resultFile), append(b, '\n'), 0o666)
}

// ReadResult reads what Write wrote.
func ReadResult(dir string) (*Result, error) {
	b, err := os.ReadFile(filepath.Join(dir, resultFile))
	if err != nil {
		return nil, err
	}
	r := &Result{}
	return r, json.Unmarshal(b, r)
}
