package needs_test

import (
	"bytes"
	"testing"

	"github.com/rules-btf/rules_btf/internal/programs/bpftest"
	"github.com/rules-btf/rules_btf/internal/programs/check"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestTypedefs checks that, if a program uses a typedef of a struct or enum, the name of the struct
// or enum doesn't matter.
func TestTypedefs(t *testing.T) {
	programtest.Need(t, "clang")
	var first []byte
	for _, types := range []string{
		"typedef struct { int counter; } P atomic; typedef enum { A, B } color;",
		"typedef struct one { int counter; } P atomic; typedef enum one_e { A, B } color;",
		"typedef struct two { int counter; } P atomic; typedef enum two_e { A, B } color;",
	} {
		data := write(t, extract(t, bpftest.Compile(t, types+`
			SEC("socket") int p(void *ctx)
			{
				return byte_off(((atomic *)0)->counter) + enum_value(color, B);
			}`)))
		if first == nil {
			first = data
		}
		if !bytes.Equal(data, first) {
			t.Errorf("%s: the bytes differ", types)
		}
	}
}

// TestMatchesAlone checks that type_matches compares all members of the type in its own program,
// but no members that only other programs use.
func TestMatchesAlone(t *testing.T) {
	programtest.Need(t, "clang")
	matches := bpftest.Compile(t, `struct s { int a; } P;
		SEC("socket") int matches(void *ctx) { return type_matches(struct s); }`)
	field := bpftest.Compile(t, `struct s { int b; } P;
		SEC("socket") int field(void *ctx) { return byte_off(((struct s *)0)->b); }`)
	n := extract(t, matches, field)
	k := bpftest.Parse(t, bpftest.Kernel(t, "struct s { int a, c; }; struct s s;"))
	results := must.Get(check.Kernel(k.Index(needs.Names(n)), n))(t)
	for _, r := range results {
		if loads := r.Verdict == check.Loads; loads != (r.Program == "matches") {
			t.Errorf("%+v", r)
		}
	}
}
