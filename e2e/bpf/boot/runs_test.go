package boot

import (
	"slices"

	"github.com/rules-btf/rules_btf/e2e/boot/wire"
)

// A run is one way of giving BTF to the libraries. In a run, both libraries load the programs.
type run struct {
	name    string
	btf     string   // the file for CO-RE relocations; "" if the library should find the kernel's BTF
	hidden  bool     // whether /sys/kernel/btf is empty during the run
	vmlinux string   // the file to which /boot/vmlinux-RELEASE links during the run; "" for no link
	only    []string // the objects to load; nil for all
	// want has the expected results of programs that don't have the same instructions as in the
	// first run. A key names a program, or an object and thereby all its programs. With the name of
	// a library before it ("libbpf hooks"), a key applies only to that library, otherwise to both.
	want map[string]string
}

// The values in run.want. If a program must be refused, the value is instead "! " followed by a
// part of the expected error.
const (
	equal   = "" // the same instructions as in the first run; this is the default
	differs = "different instructions"
)

// The BTF files in the guest.
const (
	minimalBTF = "/minimal.btf" // what "btfcore min --flat" writes
	controlBTF = "/control.btf" // minimalBTF without the member pid of task_struct
	wholeBTF   = wire.HiddenBTF + "/vmlinux"
)

// unreachable has the expected results, like run.want, of programs that need ids in the kernel's
// BTF, if the libraries find no BTF of vmlinux.
var unreachable = map[string]string{
	"libbpf hooks":         "! Error loading vmlinux BTF",
	"libbpf kfunc":         "! Error loading vmlinux BTF",
	"libbpf module_fentry": "! Error loading vmlinux BTF",
	"libbpf module_kfunc":  "! Error loading vmlinux BTF",
	"ebpf hooks":           "! not supported",
	"ebpf kfunc":           "! not supported",
	"ebpf module_fentry":   "! not supported",
	"ebpf module_kfunc":    "! not supported",
}

// unresolved is the beginning of the error that a library or the kernel reports if nothing in the
// BTF matches a relocation.
const unresolved = "! CO-RE relocation"

var runs = []run{
	{name: "kernel's BTF"},
	{name: "minimal", btf: minimalBTF},
	{name: "minimal, hidden", btf: minimalBTF, hidden: true, want: unreachable},

	// A library that is given a BTF file doesn't look for types in modules.
	{name: "whole, hidden", btf: wholeBTF, hidden: true, only: []string{"core", "module"},
		want: map[string]string{
			"module_field":         unresolved,
			"libbpf module_fentry": unreachable["libbpf module_fentry"],
			"ebpf module_fentry":   unreachable["ebpf module_fentry"],
		}},
	{name: "control, hidden", btf: controlBTF, hidden: true, only: []string{"core"},
		want: map[string]string{"byte_offset": unresolved, "reads": unresolved, "exists": differs}},

	// libbpf gets the BTF of modules from system calls; cilium/ebpf reads it from /sys/kernel/btf.
	{name: "whole as vmlinux, hidden", btf: minimalBTF, hidden: true, vmlinux: wholeBTF,
		only: []string{"hooks", "kfunc", "module", "module_kfunc"},
		want: map[string]string{
			"ebpf module_fentry": "! open /sys/kernel/btf/nf_",
			"ebpf module_kfunc":  "! open /sys/kernel/btf/nf_",
		}},

	// The kernel refuses these programs, because functions have different ids in minimal BTF than
	// in the kernel's own BTF.
	{name: "minimal as vmlinux, hidden", btf: minimalBTF, hidden: true, vmlinux: minimalBTF,
		only: []string{"hooks", "kfunc"},
		want: map[string]string{"hooks": "! attach_btf_id ", "kfunc": "! kernel btf_id "}},
}

// wanted returns the expected result of a program.
func (r run) wanted(loader, object, program string) string {
	for _, key := range []string{loader + " " + program, program, loader + " " + object, object} {
		if want, ok := r.want[key]; ok {
			return want
		}
	}
	return equal
}

// objects returns the names of the objects whose programs the libraries load in a run.
func (k kernel) objects(r run) []string {
	var names []string
	for _, name := range objects {
		if k.compiled[name] != nil && (r.only == nil || slices.Contains(r.only, name)) {
			names = append(names, name)
		}
	}
	return names
}

// objects has the NAME of each file testdata/NAME.bpf.c.
var objects = []string{"core", "hooks", "kfunc", "module", "module_kfunc"}

// inModule reports whether an object uses the module nf_conntrack.
func inModule(object string) bool {
	return slices.Contains([]string{"module", "module_kfunc"}, object)
}
