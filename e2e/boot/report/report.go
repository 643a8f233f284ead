// Package report defines the protocol between the test and the program in the virtual machine: the
// plan of what to load, and lines of JSON with the results.
package report

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// PlanFile is where the guest finds its plan.
const PlanFile = "/plan.json"

// A Plan lists what the guest does: it loads the modules, and then it runs the checks and the
// commands. Each check loads the BPF program "NAME.bpf.o" from the directory Programs.
type Plan struct {
	Report   string // the device that the report is written to
	Modules  []Load
	Checks   []string // their names; the guest runs them in its own order
	Programs string   // a directory
	Commands []Command
}

// HiddenBTF is the directory in which the guest finds the content of /sys/kernel/btf while an empty
// directory hides it.
const HiddenBTF = "/btf"

// A Command is a program that the guest runs.
type Command struct {
	Argv    []string
	HideBTF bool   // makes /sys/kernel/btf empty
	Vmlinux string // the file that is /boot/vmlinux-RELEASE during the run; "" for none
}

// A Load is one module to load.
type Load struct {
	Name string // as the kernel spells it: with "_", never "-"
	File string
}

// A Line is one line of the guest's report. Exactly one of its fields is set.
type Line struct {
	Start  *Start  `json:",omitempty"`
	Module *Module `json:",omitempty"`
	Check  *Check  `json:",omitempty"`
	Ran    *Ran    `json:",omitempty"`
	End    *End    `json:",omitempty"`
}

// Start is the first line.
type Start struct {
	Release string // the kernel's release, as uname -r prints it
	BTF     string // SHA-256 of /sys/kernel/btf/vmlinux, in hexadecimal
}

// A Module is the result of loading one module.
type Module struct {
	Load
	Error string   `json:",omitempty"` // what the system call returned; "" if it succeeded
	BTF   string   `json:",omitempty"` // SHA-256 of /sys/kernel/btf/NAME; "" if there is none
	Log   []string `json:",omitempty"` // what the kernel logged during the load
}

// A Check is the result of one of the BPF programs.
type Check struct {
	Name   string
	Error  string   `json:",omitempty"` // "" if all values were as expected
	Values []string `json:",omitempty"` // what it saw, for human readers
	Log    []string `json:",omitempty"`
}

// Ran is the result of one of the commands, in the order of the plan.
type Ran struct {
	Output string   // stdout and stderr
	Error  string   `json:",omitempty"` // "" if the command exited with 0
	Log    []string `json:",omitempty"`
}

// End is the last line; if it is missing, the guest crashed.
type End struct {
	Log []string `json:",omitempty"` // all that the kernel logged before the first module
}

// Encode returns the line as text, without a line break at its end.
func (l Line) Encode() string {
	b, err := json.Marshal(l)
	if err != nil {
		panic(err) // can't happen with strings and lists of strings
	}
	return string(b)
}

// Digest returns the SHA-256 of BTF, in hexadecimal.
func Digest(btf []byte) string { return fmt.Sprintf("%x", sha256.Sum256(btf)) }
