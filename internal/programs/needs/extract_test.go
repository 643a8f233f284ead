package needs_test

import (
	"bytes"
	"encoding/binary"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/programs/bpftest"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

var update = flag.Bool("update", false, "write the golden files")

// theTypes is the beginning of theProgram, the source that TestEdits edits.
const theTypes = `
struct mm { int users; void *owner; } P;
struct task { int pid; struct mm *mm; char comm[16]; unsigned flags:3; } P;
enum color { RED, GREEN };
`

const onExit = `
static __attribute__((noinline)) int sub(struct task *t) { return t->pid; }
SEC("fentry/do_exit") int on_exit(unsigned long long *ctx)
{
	struct task *t = (void *)ctx[0];
	out = byte_off(t->comm);
	if (field_exists(t->mm))
		out += byte_off(t->mm);
	return sub(t);
}
`

const onTick = `
extern int jiffies_of(int cpu) __attribute__((section(".ksyms")));
SEC("tp_btf/tick") int on_tick(void *ctx)
{
	out = enum_value(enum color, GREEN) + type_size(struct mm);
	return jiffies_of(3);
}
`

const theProgram = theTypes + onExit + onTick

func object(t testing.TB, data []byte) *bpfobj.Object {
	t.Helper()
	o := must.Get(bpfobj.Read(data))(t)
	return o
}

func extract(t testing.TB, objects ...[]byte) *needs.Needs {
	t.Helper()
	var list []*bpfobj.Object
	for _, data := range objects {
		list = append(list, object(t, data))
	}
	n := must.Get(needs.Extract(list...))(t)
	return n
}

// TestEdits checks that an edit doesn't change the bytes of the needs if the edited program needs
// the same things, and that Diff shows all other edits.
func TestEdits(t *testing.T) {
	programtest.Need(t, "clang")
	before := extract(t, bpftest.Compile(t, theProgram))
	for _, c := range []struct {
		name string
		edit []string // pairs of texts: the first text is replaced with the second
		diff []string
	}{
		{name: "none"}, // the same source in a different directory
		{name: "lines and comments", edit: []string{"{\n", "{\n\n/* moved */\n", "SEC", "\n\nSEC"}},
		{name: "a body", edit: []string{"return sub(t)", "out ^= 7; return 3 * sub(t) + ctx[0]"}},
		{name: "the same need twice", edit: []string{"return sub(t)",
			"out += byte_off(t->comm); return sub(t)"}},
		{name: "a variable", edit: []string{"out = enum", "int local = ctx != 0; out = local + enum"}},
		{name: "names of locals", edit: []string{"*t", "*it", "t->", "it->", "sub(t)", "sub(it)"}},
		{name: "name of a function", edit: []string{"sub(", "helper("}},
		{name: "a different order", edit: []string{theProgram, theTypes + onTick + onExit}},
		{name: "a different vmlinux.h", edit: []string{theTypes, `
			enum color { NONE = -1, GREEN = 7, BLUE, RED = 3 };
			struct mm { long lock[9]; void *owner; char users; } P;
			struct task { struct list { void *next; } list; char comm[32]; struct mm *mm;
				void *more; union { int a; long b; }; unsigned flags:2; int pid; } P;
			struct unused { struct task t; };`}},
		{name: "a forward declaration", edit: []string{theTypes, `
			struct mm;
			struct task { struct mm *mm; int pid; char comm[16]; } P;
			struct mm { int users; };
			enum color { GREEN };`}},
		{name: "flavors of types that aren't needed", edit: []string{"void *owner",
			"struct x___y *owner"}},

		{name: "a new field", edit: []string{"return sub(t)",
			"out += byte_off(t->flags); return sub(t)"},
			diff: []string{"+ on_exit: byte_off struct task.flags"}},
		{name: "a size", edit: []string{"byte_off(t->comm)", "byte_sz(t->comm)"},
			diff: []string{"- on_exit: byte_off struct task.comm",
				"+ on_exit: byte_sz struct task.comm"}},
		{name: "no guard", edit: []string{"if (field_exists(t->mm))", ""},
			diff: []string{"- on_exit: byte_off struct task.mm, if field_exists(struct task.mm)",
				"- on_exit: field_exists struct task.mm", "+ on_exit: byte_off struct task.mm"}},
		{name: "a guard", edit: []string{"out = byte_off(t->comm)",
			"if (field_exists(t->comm)) out = byte_off(t->comm)"},
			diff: []string{"- on_exit: byte_off struct task.comm",
				"+ on_exit: byte_off struct task.comm, if field_exists(struct task.comm)",
				"+ on_exit: field_exists struct task.comm"}},
		{name: "weak", edit: []string{"(section(\".ksyms\"))", "(section(\".ksyms\"), weak)"},
			diff: []string{"- on_tick: kfunc jiffies_of", "+ on_tick: kfunc jiffies_of, optional"}},
		{name: "a hook", edit: []string{"fentry/do_exit", "fexit/exit_mm"},
			diff: []string{"- on_exit: function do_exit, reads 1 argument",
				"+ on_exit: function exit_mm, reads 1 argument"}},
		{name: "an argument", edit: []string{"return sub(t)", "out += ctx[2]; return sub(t)"},
			diff: []string{"- on_exit: function do_exit, reads 1 argument",
				"+ on_exit: function do_exit, reads 3 arguments"}},
		{name: "an argument that some kernels have", edit: []string{"return sub(t)",
			"if (field_exists(t->flags)) out += ctx[2]; return sub(t)"},
			diff: []string{"+ on_exit: field_exists struct task.flags"}},
		{name: "a setting", edit: []string{onExit, "const volatile int on;" + onExit,
			"if (field_exists(t->mm))", "if (on && field_exists(t->mm))"},
			diff: []string{"- on_exit: byte_off struct task.mm, if field_exists(struct task.mm)",
				"+ on_exit: byte_off struct task.mm, for some settings, if field_exists(struct task.mm)"}},
		{name: "an enumerator", edit: []string{"GREEN) +", "RED) +"},
			diff: []string{"- on_tick: enumval_value enum color GREEN",
				"+ on_tick: enumval_value enum color RED"}},
		{name: "a program", edit: []string{onTick, ""},
			diff: []string{"- on_tick: tp_btf tick", "- on_tick: kfunc jiffies_of",
				"- on_tick: type_size struct mm", "- on_tick: enumval_value enum color GREEN"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			source := theProgram
			for i := 0; i < len(c.edit); i += 2 {
				if !strings.Contains(source, c.edit[i]) {
					t.Fatalf("the program has no %q", c.edit[i])
				}
				source = strings.ReplaceAll(source, c.edit[i], c.edit[i+1])
			}
			after := extract(t, bpftest.Compile(t, source))
			if same := bytes.Equal(write(t, before), write(t, after)); same != (c.diff == nil) {
				t.Errorf("the same bytes: %t", same)
			}
			var got []string
			for _, change := range needs.Diff(before, after) {
				got = append(got, change.String())
			}
			slices.Sort(got)
			slices.Sort(c.diff)
			if !slices.Equal(got, c.diff) {
				t.Errorf("changes\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"),
					strings.Join(c.diff, "\n\t"))
			}
		})
	}
}

// TestOrderOfObjects checks that the needs don't depend on the order of the object files or, if no
// program depends on another one, on how many files there are.
func TestOrderOfObjects(t *testing.T) {
	programtest.Need(t, "clang")
	independent := strings.NewReplacer("__attribute__((noinline))", "inline", "(section(\".ksyms\"))",
		"(section(\".ksyms\"), weak)")
	for _, edit := range []func(string) string{strings.Clone, independent.Replace} {
		one := bpftest.Compile(t, edit(theTypes+onExit))
		two := bpftest.Compile(t, edit(theTypes+onTick))
		both := write(t, extract(t, bpftest.Compile(t, edit(theProgram))))
		want := write(t, extract(t, one, two))
		if same := bytes.Equal(both, want); same != (edit(theProgram) != theProgram) {
			t.Errorf("the bytes are the same for one object: %t", same)
		}
		for name, objects := range map[string][][]byte{"reversed": {two, one}, "twice": {two, one, two}} {
			if !bytes.Equal(write(t, extract(t, objects...)), want) {
				t.Errorf("%s: the bytes differ", name)
			}
		}
	}
}

// TestText checks the text of needs of all kinds: testdata/all.txt has the needs of testdata/all.c.
func TestText(t *testing.T) {
	programtest.Need(t, "clang")
	source := must.Get(os.ReadFile("testdata/all.c"))(t)
	got := text(t, extract(t, bpftest.Compile(t, string(source))))
	const golden = "testdata/all.txt"
	if *update {
		must.OK(t, os.WriteFile(golden, []byte(got), 0o666))
	}
	if want, err := os.ReadFile(golden); err != nil || got != string(want) {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}

// build compiles a program with the given compiler and options.
func build(t *testing.T, source, output string, command ...string) []byte {
	t.Helper()
	programtest.Need(t, command[0])
	d := programtest.NewDir(t)
	d.Write("p.c", source)
	d.Run(command[0], append(command[1:], "-c", "p.c", "-o", output)...)
	data := must.Get(os.ReadFile(d.Path(output)))(t)
	return data
}

// gccMacros changes bpftest.Prelude for gcc, whose builtins take types in a different form; see
// bpf_core_read.h.
var gccMacros = strings.NewReplacer(
	"#define SEC", `
#define var_of2(t, n) ({ extern t *tmp_##n; tmp_##n; })
#define var_of1(t, n) var_of2(t, n)
#define var_of(t) var_of1(t, __COUNTER__)
#define SEC`,
	"__builtin_preserve_enum_value(*(t *)v,", "__builtin_preserve_enum_value(var_of(t), v,",
	"*(t *)0", "*var_of(t)")

// TestCompilers checks that the needs don't depend on the compiler (clang or gcc), its options, or
// whether bpftool has linked the objects.
func TestCompilers(t *testing.T) {
	programtest.Need(t, "clang")
	source := bpftest.Prelude + theProgram
	want := extract(t, bpftest.Compile(t, theProgram))
	for _, c := range []struct {
		name    string
		command []string
	}{
		{"clang -O1", []string{"clang", "-target", "bpf", "-g", "-O1", "-w"}},
		{"clang -O3 -mcpu=v4", []string{"clang", "-target", "bpf", "-mcpu=v4", "-g", "-O3", "-w"}},
		{"big endian", []string{"clang", "-target", "bpfeb", "-g", "-O2", "-w"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := extract(t, build(t, source, "p.o", c.command...))
			if text(t, n) != text(t, want) {
				t.Errorf("%s\nwant\n%s", text(t, n), text(t, want))
			}
			if c.name == "big endian" {
				if n.Order != binary.BigEndian {
					t.Errorf("the byte order is %v", n.Order)
				}
				n, err := needs.Read(write(t, n))
				if err != nil || text(t, n) != text(t, want) {
					t.Errorf("read again: %v", err)
				}
				return
			}
			if !bytes.Equal(write(t, n), write(t, want)) {
				t.Error("the bytes differ")
			}
		})
	}
	t.Run("gcc", func(t *testing.T) {
		// For a field that is an array, gcc 16 writes a relocation of type 0, which libbpf refuses.
		edit := func(s string) string { return strings.ReplaceAll(s, "t->comm", "t->pid") }
		want := extract(t, bpftest.Compile(t, edit(theProgram)))
		source := edit(gccMacros.Replace(source))
		n := extract(t, build(t, source, "p.o", "bpf-gcc", "-mco-re", "-gbtf", "-O2", "-w"))
		if text(t, n) != text(t, want) {
			t.Errorf("%s\nwant\n%s", text(t, n), text(t, want))
		}
		if !bytes.Equal(write(t, n), write(t, want)) {
			t.Error("the bytes differ")
		}
	})
	t.Run("bpftool gen object", func(t *testing.T) {
		programtest.Need(t, "bpftool")
		d := programtest.NewDir(t)
		d.Write("one.o", string(bpftest.Compile(t, theTypes+onExit)))
		second := strings.ReplaceAll(bpftest.Prelude, "volatile unsigned long long out;",
			"extern volatile unsigned long long out;")
		second = strings.ReplaceAll(second, "char _license[]", "char _license2[]")
		d.Write("two.o", string(build(t, second+theTypes+onTick, "p.o", "clang", "-target", "bpf",
			"-mcpu=v3", "-g", "-O2", "-w")))
		d.Run("bpftool", "gen", "object", "linked.o", "one.o", "two.o")
		data := must.Get(os.ReadFile(d.Path("linked.o")))(t)
		n := extract(t, data)
		if text(t, n) != text(t, want) {
			t.Errorf("%s\nwant\n%s", text(t, n), text(t, want))
		}
		if !bytes.Equal(write(t, n), write(t, want)) {
			t.Error("the bytes differ")
		}
	})
}

// TestRefused checks the errors for objects from which no needs can be extracted.
func TestRefused(t *testing.T) {
	if _, err := needs.Extract(); err == nil || err.Error() != "needs: no object files" {
		t.Errorf("no objects: %v", err)
	}
	programtest.Need(t, "clang")
	little := object(t, bpftest.Compile(t, theProgram))
	big := object(t, build(t, bpftest.Prelude+theProgram, "p.o", "clang", "-target", "bpfeb",
		"-g", "-O2", "-w"))
	_, err := needs.Extract(little, big)
	if err == nil || !strings.Contains(err.Error(), "different byte orders") {
		t.Errorf("two byte orders: %v", err)
	}
}
