// Package wire defines the protocol between a test and the program guest in the virtual machine:
// the guest's plan, and lines of JSON with the results.
package wire

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// PlanFile is the file in which the guest finds its plan.
const PlanFile = "/plan.json"

// A Plan lists what the guest does: it loads the modules, then runs the checks, and then the
// commands. Each check loads the BPF programs in the file "NAME.bpf.o".
type Plan struct {
	Report   string // the device to which the guest writes its report
	Modules  []Load
	Checks   []string // the names of the checks, which the guest runs in its own order
	Programs string   // the directory with the files "NAME.bpf.o"
	Commands []Command
}

// HiddenBTF is the directory in which the guest finds the files of /sys/kernel/btf while that
// directory is hidden.
const HiddenBTF = "/btf"

// A Command is a program that the guest runs.
type Command struct {
	Argv    []string
	HideBTF bool   // makes /sys/kernel/btf empty during the run
	Vmlinux string // the file to which /boot/vmlinux-RELEASE links during the run; "" for no link
}

// A Load names a module to load.
type Load struct {
	Name   string // the module's name in the kernel: with "_" in place of "-"
	File   string
	Remove bool `json:",omitempty"` // removes the module after the result is known
}

// A Line is one line of the guest's report. Exactly one of its fields is set.
type Line struct {
	Start  *Start  `json:",omitempty"`
	Module *Module `json:",omitempty"`
	Check  *Check  `json:",omitempty"`
	Ran    *Ran    `json:",omitempty"`
	End    *End    `json:",omitempty"`
}

// Start is the content of the first line.
type Start struct {
	Release string // the kernel's release, as uname -r prints it
	BTF     string // SHA-256 of /sys/kernel/btf/vmlinux, in hexadecimal
}

// A Module is the result of loading one module.
type Module struct {
	Load
	Error string   `json:",omitempty"` // what the system call returned; "" if it succeeded
	Stuck string   `json:",omitempty"` // why the module couldn't be removed
	BTF   string   `json:",omitempty"` // SHA-256 of /sys/kernel/btf/NAME; "" without this file
	Log   []string `json:",omitempty"` // what the kernel logged during the load
}

// A Check is the result of one check.
type Check struct {
	Name   string
	Error  string   `json:",omitempty"` // "" if all values were as expected
	Values []string `json:",omitempty"` // the values that the check saw, for human readers
	Log    []string `json:",omitempty"`
}

// Ran is the result of one command. The results are in the order of the plan's commands.
type Ran struct {
	Output string   // stdout and stderr
	Error  string   `json:",omitempty"` // "" if the command exited with 0
	Log    []string `json:",omitempty"`
}

// End is the content of the last line. If this line is missing, the guest crashed.
type End struct {
	Log []string `json:",omitempty"` // what the kernel logged before the first module was loaded
}

// Encode returns the line as text, without a line break at its end.
func (l Line) Encode() string {
	b, err := json.Marshal(l)
	if err != nil {
		panic(err) // can't happen: all fields are strings, bools and lists
	}
	return string(b)
}

// Digest returns the SHA-256 of BTF, in hexadecimal.
func Digest(btf []byte) string { return fmt.Sprintf("%x", sha256.Sum256(btf)) }
