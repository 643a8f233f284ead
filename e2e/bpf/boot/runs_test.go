package boot

import (
	"slices"

	"github.com/rules-btf/rules_btf/e2e/boot/report"
)

// A run is one way of loading programs, with both libraries.
type run struct {
	name    string
	btf     string   // the file for CO-RE relocations; "" if the library should find the kernel's BTF
	hidden  bool     // while /sys/kernel/btf is empty
	vmlinux string   // the file that is /boot/vmlinux-RELEASE during the run; "" for none
	only    []string // the objects to load; nil for all
	// want says which objects and programs don't have the same instructions as in the first run,
	// and what happens to them. A key is the name of an object or a program, and applies to both
	// libraries. After the name of a library ("libbpf hooks"), it applies only to that library.
	want map[string]string
}

// The values in run.want. For programs that are refused, the value is "! " followed by a part of
// the error.
const (
	equal   = "" // the same instructions as in the first run: the default
	differs = "other instructions"
)

// The files in the guest.
const (
	minimalBTF = "/minimal.btf" // what "btfcore min --flat" writes
	controlBTF = "/control.btf" // minimalBTF without the member pid of task_struct
	wholeBTF   = report.HiddenBTF + "/vmlinux"
)

// unreachable has, for programs that need ids in the kernel's BTF, the errors that the libraries
// report if they find no BTF of vmlinux.
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

// unresolved is the beginning of the error, from a library or from the kernel, for a relocation to
// which nothing in the BTF corresponds.
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

	// libbpf gets the BTF of modules by system calls, cilium/ebpf by reading /sys/kernel/btf.
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

// objects returns the names of the objects that the kernel loads in a run.
func (k kernel) objects(r run) []string {
	var names []string
	for _, name := range objects {
		if k.compiled[name] != nil && (r.only == nil || slices.Contains(r.only, name)) {
			names = append(names, name)
		}
	}
	return names
}

// objects are the names of the files testdata/NAME.bpf.c.
var objects = []string{"core", "hooks", "kfunc", "module", "module_kfunc"}

// inModule reports whether an object needs the module nf_conntrack.
func inModule(object string) bool {
	return slices.Contains([]string{"module", "module_kfunc"}, object)
}
