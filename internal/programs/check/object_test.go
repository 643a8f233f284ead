package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/programs/bpftest"
	"github.com/rules-btf/rules_btf/internal/programs/check"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestObjects checks that what libbpf decides for a whole object file doesn't affect the programs
// of other files whose needs are in the same file.
func TestObjects(t *testing.T) {
	const (
		strong = `extern int gone(void) __attribute__((section(".ksyms")));
			SEC("socket") int needy(void *c) { return gone(); }`
		weak = `extern int gone(void) __attribute__((section(".ksyms"), weak));
			SEC("socket") int tests(void *c) { return gone ? gone() : 0; }`
		refused = `struct { int x; } P *unnamed;
			__attribute__((noinline)) int in_text(void) { return byte_off(unnamed->x) + out; }
			SEC("socket") int calls(void *c) { return in_text(); }`
		beside = `SEC("socket") int beside(void *c) { return 0; }`
		alone  = `SEC("socket") int alone(void *c) { return 0; }`
	)
	k := bpftest.Parse(t, bpftest.Kernel(t, "struct task { int pid; } task;"))
	for _, c := range []struct {
		sources []string
		want    string
	}{
		{[]string{strong + beside, alone}, "alone loads, beside fails, needy fails"},
		{[]string{strong + beside, weak + alone}, "alone loads, beside fails, needy fails, tests partly"},
		{[]string{refused + beside, alone}, "alone loads, beside fails, calls fails"},
		{[]string{refused + beside, beside}, "beside fails, beside loads, calls fails"},
		{[]string{strong + beside, strong + beside}, "beside fails, needy fails"},
		{[]string{alone + beside, alone}, "alone loads, beside loads"},
	} {
		for range 2 {
			var objects []*bpfobj.Object
			for _, source := range c.sources {
				o := must.Get(bpfobj.Read(bpftest.Compile(t, source)))(t)
				objects = append(objects, o)
			}
			n := must.Get(needs.Extract(objects...))(t)
			results := must.Get(check.Kernel(k.Index(needs.Names(n)), n))(t)
			var got []string
			for _, r := range results {
				got = append(got, fmt.Sprint(r.Program, " ", r.Verdict))
			}
			slices.Sort(got)
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("%s, want %s", text, c.want)
			}
			slices.Reverse(c.sources)
		}
	}
}
