// Package report is the protocol between the test and the program in the virtual machine: the plan
// of what to load, and lines of JSON with the results.
package report

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// PlanFile is where the guest finds its plan.
const PlanFile = "/plan.json"

// A Plan is what the guest does, in this order: it loads the modules and runs the checks, of which
// each loads a program of BPF from Programs, "NAME.bpf.o".
type Plan struct {
	Report   string // the device that the report is written to
	Modules  []Load
	Checks   []string // in the guest's own order, whatever this one is
	Programs string   // a directory
}

// A Load is one module to load.
type Load struct {
	Name string // as the kernel spells it: with "_", never "-"
	File string
}

// A Line is one line of the guest's report. One of its fields is set.
type Line struct {
	Start  *Start  `json:",omitempty"`
	Module *Module `json:",omitempty"`
	Check  *Check  `json:",omitempty"`
	End    *End    `json:",omitempty"`
}

// Start is the first line.
type Start struct {
	Release string // of the kernel, as uname -r prints it
	BTF     string // SHA-256 of /sys/kernel/btf/vmlinux, in hexadecimal
}

// A Module says how loading one went.
type Module struct {
	Load
	Error string   `json:",omitempty"` // what the system call returned; "": it is loaded
	BTF   string   `json:",omitempty"` // SHA-256 of /sys/kernel/btf/NAME; "": there is none
	Log   []string `json:",omitempty"` // what the kernel logged while it was loaded
}

// A Check says how one of the programs of BPF did.
type Check struct {
	Name   string
	Error  string   `json:",omitempty"` // "": all that it looked at was as it should be
	Values []string `json:",omitempty"` // what it saw, for people
	Log    []string `json:",omitempty"`
}

// End is the last line; without it the guest crashed.
type End struct {
	Log []string `json:",omitempty"` // all that the kernel logged before the first module
}

// Encode returns the line as text, without a line break at its end.
func (l Line) Encode() string {
	b, err := json.Marshal(l)
	if err != nil {
		panic(err) // strings and lists of strings have no reason to fail
	}
	return string(b)
}

// Digest returns the SHA-256 of BTF, in hexadecimal.
func Digest(btf []byte) string { return fmt.Sprintf("%x", sha256.Sum256(btf)) }
