package needs_test

import (
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/programs/bpftest"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestStructOpsRefused checks that there is an error for each struct_ops map that libbpf refuses on
// every kernel.
func TestStructOpsRefused(t *testing.T) {
	programtest.Need(t, "clang")
	const start = `
struct ops { int (*begin)(void); struct { int (*inner)(void); } in; void *data; long number; };
SEC("struct_ops") int begin(void *c) { return 0; }
SEC("socket") int other(void *c) { return 0; }
static __attribute__((noinline)) int not_a_program(void *c) { return out; }
SEC("socket") int caller(void *c) { return not_a_program(c); }
SEC(".struct_ops") struct ops ops = `
	for _, c := range []struct{ value, want string }{
		{`{ .begin = (void *)begin };`, ""},
		{`{ .number = 1 };`, ""},
		{`{ .data = (void *)1 };`, "ops: the pointer data points to no program; libbpf refuses the map"},
		{`{ .begin = (void *)1 };`, "ops: the pointer begin points to no program; libbpf refuses"},
		{`{ .begin = (void *)other };`, "ops: libbpf refuses begin, which points to other: either begin"},
		{`{ .data = (void *)begin };`, "ops: libbpf refuses data, which points to begin: either data " +
			"is not a pointer to a function, or begin is not a struct_ops program"},
		{`{ .number = (long)begin };`, "ops: libbpf refuses number, which points to begin: "},
		{`{ .begin = (void *)not_a_program };`, "section .struct_ops: ops: the pointer at offset 0x0 " +
			"points to no program"},
		{`{}; SEC(".struct_ops") int number;`, "section .struct_ops: number is not a struct with a name"},
		{`{}; SEC(".struct_ops") struct { int x; } anonymous;`, "anonymous is not a struct with a name"},
	} {
		o, err := bpfobj.Read(bpftest.Compile(t, start+c.value))
		if err == nil {
			_, err = needs.Extract(o)
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil ||
			!strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %s", c.value, err, c.want)
		}
	}
}
