package needs_test

import (
	"os"
	"testing"

	"github.com/rules-btf/rules_btf/internal/programs/bpftest"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestOverridden checks that the code of a weak function that another object overrides needs
// nothing. "bpftool gen object" keeps that code and its relocations, but not its symbol.
func TestOverridden(t *testing.T) {
	programtest.Need(t, "bpftool")
	const start = `
#pragma weak out
#pragma weak _license
struct task { int one, two, three; } P;
#define t ((struct task *)0)
struct { int x; } P *unnamed __attribute__((weak));
extern int kfunc(int) __attribute__((section(".ksyms"), weak));
static __attribute__((noinline)) int local(void) { return byte_off(t->three) + out; }
__attribute__((weak, noinline)) `
	d := programtest.NewDir(t)
	d.Write("a.o", string(bpftest.Compile(t, start+`
		int helper(void) { return byte_off(t->one) + out; }
		SEC("socket") int a(void *c) { return helper() + local(); }`)))
	d.Write("b.o", string(bpftest.Compile(t, start+`
		int helper(void) { return byte_off(t->two) + byte_off(unnamed->x) + local() + kfunc(out); }
		SEC("socket") int b(void *c) { return helper(); }`)))
	const firstWins = "a (socket)\n  byte_off struct task.one\n  byte_off struct task.three\n" +
		"b (socket)\n  byte_off struct task.one\n" +
		"local (.text)\n  byte_off struct task.three\n"
	const unnamed = `  refused byte_off of unnamed struct, access "0:0": libbpf supports only types ` +
		"with names\n"
	const fields = "  kfunc kfunc, optional\n  byte_off struct task.three\n" +
		"  byte_off struct task.two\n"
	for _, c := range []struct{ first, second, want string }{
		{"a.o", "b.o", firstWins},
		{"b.o", "a.o", "a (socket)\n" + unnamed + fields + "b (socket)\n" + unnamed + fields},
	} {
		d.Run("bpftool", "gen", "object", "linked.o", c.first, c.second)
		data := must.Get(os.ReadFile(d.Path("linked.o")))(t)
		if got := text(t, extract(t, data)); got != c.want {
			t.Errorf("%s wins:\n%s\nwant\n%s", c.first, got, c.want)
		}
	}
}
