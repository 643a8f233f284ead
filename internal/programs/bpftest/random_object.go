package bpftest

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// objectStart has the types and external symbols of random objects. Two objects that bpftool links
// may both define a weak symbol.
const objectStart = `
#pragma weak out
#pragma weak _license
#define NOINLINE __attribute__((noinline))
struct task_struct { int none[0]; int pid; int gone; int tail[0]; } P;
#define task ((struct task_struct *)0)
struct { int x; } P *unnamed __attribute__((weak));
extern int no_such_kfunc(void) __attribute__((section(".ksyms")));
`

// RandomObject returns an object with random programs for the running kernel, the names of the
// programs, and their source. Some of the programs name a module in their section, have relocations
// that libbpf refuses, or need a symbol that the kernel lacks. Half of the objects are linked by
// "bpftool gen object" from two objects, in which case one overrides a weak function of the other.
func RandomObject(t testing.TB, seed uint64) (object []byte, programs []string, source string) {
	t.Helper()
	r := objectWriter{rand.New(rand.NewPCG(seed, 3)), nil}
	first := r.source("a")
	if r.IntN(2) == 0 {
		return Compile(t, first), r.programs, first
	}
	programtest.Need(t, "bpftool")
	second := r.source("b")
	d := programtest.NewDir(t)
	d.Write("a.o", string(Compile(t, first)))
	d.Write("b.o", string(Compile(t, second)))
	out, err := exec.Command("bpftool", "gen", "object", d.Path("o"), d.Path("a.o"),
		d.Path("b.o")).CombinedOutput()
	if err != nil {
		t.Fatalf("bpftool: %v\n%s", err, out)
	}
	return read(t, d.Path("o")), r.programs, first + second
}

// objectWriter writes the sources of an object.
type objectWriter struct {
	*rand.Rand
	programs []string
}

// source returns the source of a few programs, whose names begin with a prefix.
func (r *objectWriter) source(prefix string) string {
	var s strings.Builder
	s.WriteString(objectStart)
	fmt.Fprintf(&s, "__attribute__((weak)) NOINLINE int weak_helper(void) { return %s + out; }\n",
		r.value())
	fmt.Fprintf(&s, "NOINLINE int %s_helper(void) { return %s + out; }\n", prefix, r.value())
	for i := range 2 + r.IntN(3) {
		name := fmt.Sprint(prefix, i)
		r.programs = append(r.programs, name)
		value := r.value()
		switch r.IntN(12) {
		case 0, 1:
			value += " + weak_helper()"
		case 2:
			value += " + " + prefix + "_helper()"
		case 3:
			if r.IntN(3) == 0 {
				value += " + no_such_kfunc()"
			}
		}
		fmt.Fprintf(&s, "SEC(%q) int %s(void *ctx) { out = %s; return 0; }\n", r.section(), name, value)
	}
	return s.String()
}

// section returns the name of a program's section.
func (r *objectWriter) section() string {
	if r.IntN(2) == 0 {
		return "socket"
	}
	modules := []string{"", "", "vmlinux:", "vm:", ":", "vmlinux2:", "no_module:"}
	targets := []string{"sched_switch", "task_newtask", "sched_switch", "no_such"}
	return "tp_btf/" + modules[r.IntN(len(modules))] + targets[r.IntN(len(targets))]
}

// value returns an expression with a relocation. Most programs load with it.
func (r *objectWriter) value() string {
	values := []string{"byte_off(task->gone)", "byte_off(unnamed->x)", "field_exists(task->none[1])",
		"byte_sz(unnamed->x)"}
	if r.IntN(9) > 0 {
		values = []string{"byte_off(task->pid)", "field_exists(task->pid)", "field_exists(task->gone)",
			"field_exists(task->tail[3])", "type_id_local(typeof(*unnamed))",
			"type_size(struct task_struct)"}
	}
	return values[r.IntN(len(values))]
}
