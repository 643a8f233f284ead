package bpfobj_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/programs/bpftest"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// theCalls is a source with functions that call each other. Some are in .text, others in sections
// for programs.
const theCalls = `
#define NOINLINE __attribute__((noinline))
struct s { int a, b; } P;
static long (*loop)(unsigned, void *, void *, unsigned long long) = (void *)181;
extern int kfunc(int) __attribute__((section(".ksyms")));
extern int optional(void) __attribute__((section(".ksyms"), weak));
extern const int variable __attribute__((section(".ksyms")));
extern int CONFIG_HZ __attribute__((section(".kconfig")));

static NOINLINE int leaf(struct s *s) { return s->a + out; }
NOINLINE int global(int n) { return n * out; }
__attribute__((visibility("hidden"))) NOINLINE int hidden(int n) { return n ^ out; }
static NOINLINE int middle(struct s *s) { return leaf(s) * 2 + hidden(3) + out; }
static long each(unsigned i, void *ctx) { return i > out; }

SEC("socket") int first(struct s *s) { return middle(s) + global(1); }
SEC("socket") int second(struct s *s) { loop(5, each, s, 0); return leaf(s); }
SEC("xdp") int third(void *ctx)
{
	if (optional)
		out = optional();
	return kfunc(CONFIG_HZ) + variable;
}
SEC("xdp") int alone(void *ctx) { return 0; }
`

func read(t testing.TB, data []byte) *bpfobj.Object {
	t.Helper()
	o := must.Get(bpfobj.Read(data))(t)
	return o
}

// describe returns a line with everything that is known about a function.
func describe(f *bpfobj.Function) string {
	text := f.Section + " " + f.Name
	if f.Program {
		text += ", program"
	}
	if f.Global {
		text += ", global"
	}
	names := map[string]bool{}
	for _, to := range f.Calls {
		names[to.Name] = true
	}
	if len(names) > 0 {
		text += ": calls " + strings.Join(slices.Sorted(maps.Keys(names)), " ")
	}
	names = map[string]bool{}
	for _, name := range f.Uses {
		names[name] = true
	}
	if len(names) > 0 {
		text += ": uses " + strings.Join(slices.Sorted(maps.Keys(names)), " ")
	}
	return text
}

// theFunctions has the lines that describe returns for the functions in theCalls.
var theFunctions = []string{
	".text each",
	".text global, global",
	".text hidden",
	".text leaf",
	".text middle: calls hidden leaf",
	"socket first, program, global: calls global middle",
	"socket second, program, global: calls each leaf",
	"xdp alone, program, global",
	"xdp third, program, global: uses CONFIG_HZ kfunc optional variable",
}

// TestCalls checks which function calls which, by immediates and by relocations, in all forms of
// object files.
func TestCalls(t *testing.T) {
	programtest.Need(t, "clang")
	source := bpftest.Prelude + theCalls
	build := func(t *testing.T, command ...string) []byte {
		programtest.Need(t, command[0])
		d := programtest.NewDir(t)
		d.Write("p.c", source)
		d.Run(command[0], append(command[1:], "-c", "p.c", "-o", "p.o")...)
		data := must.Get(os.ReadFile(d.Path("p.o")))(t)
		return data
	}
	for name, make := range map[string]func(t *testing.T) []byte{
		"clang": func(t *testing.T) []byte { return bpftest.Compile(t, theCalls) },
		"big endian": func(t *testing.T) []byte {
			return build(t, "clang", "-target", "bpfeb", "-g", "-O2", "-w")
		},
		"gcc": func(t *testing.T) []byte {
			return build(t, "bpf-gcc", "-mco-re", "-gbtf", "-O2", "-w")
		},
		"bpftool gen object": func(t *testing.T) []byte {
			programtest.Need(t, "bpftool")
			d := programtest.NewDir(t)
			d.Write("p.o", string(bpftest.Compile(t, theCalls)))
			d.Run("bpftool", "gen", "object", "linked.o", "p.o")
			data := must.Get(os.ReadFile(d.Path("linked.o")))(t)
			return data
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := read(t, make(t))
			var got []string
			for _, f := range o.Functions {
				got = append(got, describe(f))
			}
			slices.Sort(got)
			if !slices.Equal(got, theFunctions) {
				t.Errorf("\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(theFunctions, "\n"))
			}
			var externs []string
			for name, x := range o.Externs {
				ty, _ := o.BTF.ByID(x.Type)
				externs = append(externs, fmt.Sprintf("%s %s %v %t", x.Section, name, ty.Kind, x.Weak))
			}
			slices.Sort(externs)
			if want := []string{".kconfig CONFIG_HZ VAR false", ".ksyms kfunc FUNC false",
				".ksyms optional FUNC true", ".ksyms variable VAR false"}; !slices.Equal(externs, want) {
				t.Errorf("unexpected externs\n%s", strings.Join(externs, "\n"))
			}
		})
	}
}

// TestRelocations checks that each relocation is at its instruction, even if the instruction's
// function isn't the first one in the section.
func TestRelocations(t *testing.T) {
	programtest.Need(t, "clang")
	o := read(t, bpftest.Compile(t, `
		struct s { int a, b; } P;
		SEC("socket") int one(struct s *s) { out = byte_off(s->b); return s->a; }
		SEC("socket") int two(struct s *s) { s->b = 1; return 0; }`))
	var got []string
	for _, f := range o.Functions {
		for _, at := range slices.Sorted(maps.Keys(f.Relocations)) {
			r := f.Relocations[at]
			got = append(got, fmt.Sprintf("%s %v %s class %d memory %d", f.Name, r.Kind, r.Access,
				f.Insns[at].Class(), r.Memory))
		}
	}
	slices.Sort(got)
	want := []string{
		fmt.Sprintf("one byte_off 0:0 class %d memory 4", bpfobj.ClassLDX),
		fmt.Sprintf("one byte_off 0:1 class %d memory 0", bpfobj.ClassALU64),
		fmt.Sprintf("two byte_off 0:1 class %d memory 4", bpfobj.ClassSTX),
	}
	for i := range got { // later compilers store immediates, and load constants differently
		got[i] = strings.Replace(got[i], fmt.Sprintf("class %d", bpfobj.ClassST),
			fmt.Sprintf("class %d", bpfobj.ClassSTX), 1)
		got[i] = strings.Replace(got[i], fmt.Sprintf("class %d", bpfobj.ClassLD)+" ",
			fmt.Sprintf("class %d ", bpfobj.ClassALU64), 1)
	}
	if !slices.Equal(got, want) {
		t.Errorf("\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// plain returns an ELF file without functions, and with BTF if withBTF is set.
func plain(t testing.TB, machine elf.Machine, withBTF bool, more ...string) []byte {
	t.Helper()
	b := btf.NewBuilder(binary.LittleEndian, nil, nil)
	b.Int("int", 4, btf.IntSigned, 32)
	data := must.Get(b.Encode(btf.EncodeOptions{}))(t)
	o := elfwrite.File{AddrSize: 8, Order: binary.LittleEndian, Machine: uint16(machine)}
	if withBTF {
		o.Sections = append(o.Sections, elfwrite.Section{Name: ".BTF", Data: data, Align: 4})
	}
	for _, name := range more {
		o.Sections = append(o.Sections, elfwrite.Section{Name: name})
	}
	return filetest.Bytes(t, o)
}

// stripped hides the symbol tables in a file: it changes the type of their sections.
func stripped(t testing.TB, data []byte) []byte {
	t.Helper()
	f := must.Get(elf.NewFile(bytes.NewReader(data)))(t)
	data = bytes.Clone(data)
	headers := binary.LittleEndian.Uint64(data[40:])
	for i, s := range f.Sections {
		if s.Type == elf.SHT_SYMTAB {
			binary.LittleEndian.PutUint32(data[headers+64*uint64(i)+4:], uint32(elf.SHT_NOTE))
		}
	}
	return data
}

// TestMessages checks the errors for files that aren't BPF programs with BTF.
func TestMessages(t *testing.T) {
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "empty file, expected an object file with BPF programs: "},
		{"text", []byte("int main;"), "not an ELF file: "},
		{"another machine", plain(t, elf.EM_X86_64, true), "an ELF file for EM_X86_64, expected one " +
			"for EM_BPF; name the object file with the programs"},
		{"no BTF", plain(t, elf.EM_BPF, false), "no BTF (.BTF): compile the programs with -g"},
		{"no functions", plain(t, elf.EM_BPF, true), "no BPF programs: none of the code sections "},
		{"needs", plain(t, elf.EM_BPF, true, ".BTF.needs"), `a file written by "btfcore needs", `},
		{"stripped", stripped(t, plain(t, elf.EM_BPF, true)), "no symbol table, so the programs "},
	} {
		if _, err := bpfobj.Read(c.data); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	programtest.Need(t, "clang")
	_, err := bpfobj.Read(bpftest.Compile(t,
		`static SEC("xdp") int hidden(void *c) { return 0; }`))
	want := "the program hidden in section xdp is static, which libbpf refuses"
	if err == nil || err.Error() != want {
		t.Errorf("a static program: %v, want %s", err, want)
	}
}

// readable reads an object and extracts its needs. It reports whether both succeed.
func readable(data []byte) (ok bool) {
	o, err := bpfobj.Read(data)
	if err != nil {
		return false
	}
	_, err = needs.Extract(o)
	return err == nil
}

// seeds returns objects to mutate: one without functions and, if clang is installed, one that clang
// compiled.
func seeds(t testing.TB) [][]byte {
	list := [][]byte{plain(t, elf.EM_BPF, true)}
	if _, err := exec.LookPath("clang"); err == nil {
		list = append(list, bpftest.Compile(t, theCalls))
	}
	return list
}

// FuzzRead checks that Read neither panics nor runs for long, whatever the bytes are.
func FuzzRead(f *testing.F) {
	for _, data := range seeds(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { readable(data) })
}

// TestMutated does the same as FuzzRead with thousands of objects in which a few bytes are changed,
// and with hundreds of truncated objects.
func TestMutated(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, good := range seeds(t) {
		read := 0
		for range 4000 {
			data := bytes.Clone(good)
			for range 1 + r.IntN(4) {
				data[r.IntN(len(data))] = []byte{0, 1, 4, 0x80, 0xff, 0x7f, byte(r.IntN(256))}[r.IntN(7)]
			}
			if readable(data) {
				read++
			}
		}
		for n := 0; n < len(good); n += 1 + len(good)/500 {
			readable(good[:n])
		}
		t.Logf("%d of 4000 could be read", read)
	}
}
