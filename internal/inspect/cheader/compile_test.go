package cheader_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/cheader"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// layouts is C source whose layouts are hard to restore from BTF. It has bitfields, gaps, and
// attributes that BTF doesn't record.
const layouts = `
struct opaque;
typedef unsigned char u8; typedef unsigned int u32; typedef unsigned long long u64;
enum tiny { TINY } __attribute__((packed));
enum wide { WIDE = 0x123456789aULL };
enum minus { MINUS = -1 };
enum word { WORD } __attribute__((mode(word)));
struct packed { u8 a; u32 b; u64 c; } __attribute__((packed));
struct half { u8 a; struct packed p; u32 b __attribute__((aligned(16))); };
struct bits { u32 a: 3, : 5, b: 20; u8 c; u64 d: 40; int : 0; u8 e: 2; };
struct packedbits { u8 a: 3; u32 b: 20; u64 c: 50; } __attribute__((packed));
struct cacheline { u8 a; u32 b; } __attribute__((aligned(64)));
struct holder { u8 a; struct cacheline c; u8 z; };
struct page { u8 a; u8 b[] __attribute__((aligned(4096))); };
struct flexible { u32 n; struct { u8 x; u32 y; } items[]; };
struct empty { };
struct withempty { struct empty e; u32 a; u8 zero[0]; };
union packedunion { u32 a; u8 b[7]; } __attribute__((packed));
union alignedunion { u8 a; } __attribute__((aligned(32)));
struct unions { u8 a; union packedunion p; union alignedunion q;
	union { u32 x; struct { u8 y, z; }; }; };
struct big { u8 a; __int128 b; _Bool d; float e; double f; };
struct packedbig { u64 a; __int128 b; } __attribute__((packed, aligned(8)));
struct enums { enum tiny t; enum wide w; enum minus m; enum word o; enum { IN, OUT } dir; };
struct list { struct list *next, **prev; struct other *o; struct opaque *p; };
struct other { struct list l; const struct other *volatile self; char *const names[4]; };
typedef int (*callback)(struct list *, void (*)(const char *, ...), int (*)[3]);
struct ops { callback cb; int (*open)(void); struct other *(*get[2])(callback cb);
	int (*(*deep)(int))(u8); };
typedef struct { struct { struct { int deep; } *p; } a[2][3]; } nested;
struct uses { nested n; volatile const int v; char *restrict r; } ;
`

// compile compiles C into an object file; command is the compiler and its options.
func compile(t *testing.T, source string, command ...string) string {
	t.Helper()
	return programtest.Compile(t, source, command[0],
		append(command[1:len(command):len(command)], "-w", "-c")...)
}

// compiled returns the BTF that gcc writes for C, including unused types.
func compiled(t *testing.T, source string) *btf.Blob {
	t.Helper()
	o := compile(t, source, "gcc", "-gbtf", "-fno-eliminate-unused-debug-types")
	b := must.Get(btf.ReadOne(o, nil))(t)
	return b
}

// place is where a member is, in bits.
type place struct {
	name          string
	offset, width uint64
}

// flatten lists the members of a struct or union, each followed by the member's own members.
// Anonymous members themselves are left out.
func flatten(b *btf.Blob, id uint32, from uint64, out []place) []place {
	t, o := b.ByID(id)
	for t != nil && t.Kind.IsModifier() {
		t, o = b.ByID(t.SizeOrType)
	}
	if t == nil || !t.Kind.IsComposite() {
		return out
	}
	for _, m := range o.MembersOf(t) {
		name, _ := b.Name(m.NameOff)
		offset, width := m.Bits(t.KFlag)
		switch at := from + uint64(offset); {
		case name == "":
			out = flatten(b, m.Type, at, out)
		default:
			out = append(out, place{name, at, uint64(width)})
			out = append(out, flatten(b, m.Type, at, nil)...)
		}
	}
	return out
}

// tagged returns the ids of the structs, unions, enums and typedefs in b, by kind and name.
func tagged(b *btf.Blob) map[string]uint32 {
	found := map[string]uint32{}
	for i := range b.Types {
		t := &b.Types[i]
		if name := b.TypeName(t); name != "" && (t.Kind.IsComposite() || t.Kind.IsEnum() ||
			t.Kind == btf.KindTypedef) {
			found[t.Kind.String()+" "+name] = b.StartID + uint32(i)
		}
	}
	return found
}

// sameLayouts writes a header for b, compiles it, and checks that sizes and offsets are those in b.
func sameLayouts(t *testing.T, b *btf.Blob) {
	t.Helper()
	var text bytes.Buffer
	must.OK(t, cheader.Write(&text, b, nil))
	again := compiled(t, text.String())
	known := tagged(again)
	for name, id := range tagged(b) {
		other, ok := known[name]
		if !ok {
			t.Errorf("%s is not in the header\n%s", name, text.String())
			continue
		}
		x, _ := b.ByID(id)
		y, _ := again.ByID(other)
		if x.Kind.HasSize() && x.SizeOrType != y.SizeOrType {
			t.Errorf("%s: %d bytes, in the header %d", name, x.SizeOrType, y.SizeOrType)
		}
		if p, q := flatten(b, id, 0, nil), flatten(again, other, 0, nil); !slices.Equal(p, q) {
			t.Errorf("%s: members\n%v, in the header\n%v", name, p, q)
		}
	}
	if t.Failed() {
		t.Log(text.String())
	}
	compileEverywhere(t, text.String()+assertions(b), "gcc", "clang -target bpf")
}

// Compilers for 64-bit and for 32-bit machines.
var (
	with64 = []string{"gcc", "clang", "clang -target bpf", "clang -target aarch64-linux-gnu",
		"clang -target s390x-linux-gnu"}
	with32 = []string{"gcc -m32", "clang -target i386-linux-gnu",
		"clang -target armv7-linux-gnueabihf", "clang -target mips-linux-gnu",
		"clang -target powerpc-linux-gnu"}
)

// compileEverywhere compiles C as gnu17 and as gnu23 with each of the given compiler commands,
// except those that don't work here.
func compileEverywhere(t *testing.T, source string, machines ...string) {
	t.Helper()
	for _, machine := range machines {
		for _, std := range []string{"-std=gnu17", "-std=gnu23"} { // gcc has gnu23 since version 14
			command := append(strings.Fields(machine), std)
			try := append(slices.Clone(command[1:]), "-fsyntax-only", "-x", "c", os.DevNull)
			if exec.Command(command[0], try...).Run() == nil {
				compile(t, source, command...)
			}
		}
	}
}

// assertions returns C that compiles only if sizes and offsets are those in b. It doesn't check the
// offsets of bitfields.
func assertions(b *btf.Blob) string {
	var text strings.Builder
	for i := range b.Types {
		t := &b.Types[i]
		name := b.TypeName(t)
		if !t.Kind.IsComposite() || name == "" {
			continue
		}
		tag := strings.ToLower(t.Kind.String()) + " " + name
		fmt.Fprintf(&text, "_Static_assert(sizeof(%s) == %d, \"%s\");\n", tag, t.SizeOrType, tag)
		for _, m := range b.MembersOf(t) {
			member, _ := b.Name(m.NameOff)
			if offset, width := m.Bits(t.KFlag); width == 0 && member != "" {
				fmt.Fprintf(&text, "_Static_assert(__builtin_offsetof(%s, %s) == %d, \"%s.%s\");\n", tag,
					member, offset/8, tag, member)
			}
		}
	}
	return text.String()
}

// TestLayouts compiles C, writes a header from the compiler's BTF, and checks that the header gives
// all types the same layouts.
func TestLayouts(t *testing.T) {
	programtest.Need(t, "gcc")
	b := compiled(t, layouts)
	if _, ok := tagged(b)["ENUM64 wide"]; !ok {
		t.Skip("SKIPPED: this gcc writes no ENUM64; " +
			"version 13 and later do (./bazelw --root-exec has one)")
	}
	sameLayouts(t, b)
}

// TestRandomLayouts does the same as TestLayouts with random structs.
func TestRandomLayouts(t *testing.T) {
	programtest.Need(t, "gcc")
	for seed := range int64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			sameLayouts(t, compiled(t, randomStructs(rand.New(rand.NewSource(seed)), 150)))
		})
	}
}

// randomStructs returns C with n structs and unions, whose members may have types defined earlier
// in that C.
func randomStructs(r *rand.Rand, n int) string {
	var text strings.Builder
	types := []string{"char", "short", "int", "long", "unsigned char", "unsigned short",
		"unsigned long", "void *", "double", "__int128", "_Bool"}
	attribute := func() string {
		switch r.Intn(6) {
		case 0:
			return " __attribute__((packed))"
		case 1:
			return fmt.Sprintf(" __attribute__((aligned(%d)))", 1<<r.Intn(7))
		case 2:
			return fmt.Sprintf(" __attribute__((packed, aligned(%d)))", 1<<r.Intn(5))
		}
		return ""
	}
	for i := range n {
		kind := "struct"
		if r.Intn(5) == 0 {
			kind = "union"
		}
		fmt.Fprintf(&text, "%s t%d {\n", kind, i)
		for j := range 1 + r.Intn(7) {
			switch r.Intn(8) {
			case 0, 1, 2:
				of := []struct {
					name string
					bits int
				}{{"unsigned char", 8}, {"short", 16}, {"int", 32}, {"long", 64}, {"_Bool", 1}}[r.Intn(5)]
				fmt.Fprintf(&text, "\t%s m%d: %d;\n", of.name, j, 1+r.Intn(of.bits))
			case 3:
				fmt.Fprintf(&text, "\t%s m%d[%d];\n", types[r.Intn(len(types))], j, r.Intn(4))
			case 4:
				fmt.Fprintf(&text, "\tstruct { %s a%d; %s b%d; }%s;\n", types[r.Intn(len(types))], j,
					types[r.Intn(len(types))], j, attribute())
			default:
				fmt.Fprintf(&text, "\t%s m%d%s;\n", types[r.Intn(len(types))], j,
					[]string{"", "", "", " __attribute__((packed))", " __attribute__((aligned(32)))"}[r.Intn(5)])
			}
		}
		fmt.Fprintf(&text, "}%s;\n", attribute())
		types = append(types, fmt.Sprintf("%s t%d", kind, i))
	}
	return text.String()
}

// TestNames takes names that have a special meaning for some compiler, and uses each of them in
// every place where C allows a name.
func TestNames(t *testing.T) {
	programtest.Need(t, "gcc")
	b := btf.NewBuilder(nil, nil, nil)
	integer := b.Int("int", 4, btf.IntSigned, 0)
	truth := b.Int("_Bool", 1, btf.IntBool, 0)
	b.Ref(btf.KindTypedef, "bool", truth)
	var uses strings.Builder
	for i, name := range []string{"nullptr", "constexpr", "alignas", "alignof", "thread_local",
		"static_assert", "typeof", "typeof_unqual", "bool", "true", "false", "linux", "unix", "i386",
		"mips", "MIPSEB", "PPC", "sparc", "mc68000", "auto", "asm", "inline"} {
		m := member(b, name, integer, 0)
		tag := b.Composite(btf.KindStruct, name, 4, false, m)
		inUnion := b.Composite(btf.KindUnion, name, 4, false, m)
		word := b.Ref(btf.KindTypedef, name, integer)
		enum := b.Enum(btf.KindEnum, "e"+name, 4, false, value(b, name, uint64(i)))
		pointer := b.Ref(btf.KindPtr, "", b.Fwd(name+"_only", false))
		inline := b.Enum(btf.KindEnum, "", 4, false, value(b, name, uint64(i)))
		b.Composite(btf.KindStruct, "uses"+name, 32, false, member(b, "a", tag, 0),
			member(b, "b", inUnion, 32), member(b, "c", word, 64), member(b, "d", enum, 96),
			member(b, "e", pointer, 128), member(b, "f", inline, 192))
		b.DeclTag("bpf_kfunc", b.Func(name, b.FuncProto(tag,
			btf.Param{NameOff: b.Name(name), Type: word}), btf.LinkageGlobal), btf.DeclTagWhole)
		fmt.Fprintf(&uses, "_Static_assert(__builtin_offsetof(struct uses%s, f) == 24, \"\");\n", name)
	}
	for _, name := range []string{"linux", "unix", "i386"} { // these can be used as they are
		fmt.Fprintf(&uses, "int get_%[1]s(struct %[1]s *x) { return x->%[1]s; }\n", name)
	}
	var text bytes.Buffer
	must.OK(t, cheader.Write(&text, b.Finish(), nil))
	compileEverywhere(t, text.String()+uses.String(), with64...)
	compileEverywhere(t, text.String(), with32...)
}

// TestNumbers writes number types that compilers support only for some machines.
func TestNumbers(t *testing.T) {
	programtest.Need(t, "gcc")
	for _, c := range []struct {
		machines []string
		long     uint32
	}{{with64, 8}, {with32, 4}} {
		b := btf.NewBuilder(nil, nil, nil)
		b.Int("long int", c.long, btf.IntSigned, 0)
		char := b.Int("char", 1, btf.IntSigned, 0)
		for i, number := range []uint32{b.Float("_Float16", 2), b.Float("__bf16", 2),
			b.Float("_Float32", 4), b.Float("_Float64x", 16), b.Float("_Float128", 16),
			b.Float("__float128", 16), b.Float("long double", 8), b.Float("long double", 12),
			b.Float("long double", 16), b.Float("complex float", 8), b.Float("f16", 2),
			b.Float("ten */", 10), b.Int("__int128 unsigned", 16, 0, 0),
			b.Int("__int128", 16, btf.IntSigned, 0), b.Int("__Poly128_t", 16, 0, 0)} {
			x, _ := b.Blob.ByID(number)
			size := x.SizeOrType
			array := b.Array(number, char, 3)
			alias := b.Ref(btf.KindTypedef, fmt.Sprint("n", i), number)
			pointer := b.Ref(btf.KindPtr, "", alias)
			b.Composite(btf.KindStruct, fmt.Sprint("natural", i), 64+4*size, false,
				member(b, "p", pointer, 0), member(b, "x", array, 256), member(b, "y", alias, 256+24*size))
			b.Composite(btf.KindStruct, fmt.Sprint("packed", i), 2+4*size, false, member(b, "c", char, 0),
				member(b, "x", alias, 8), member(b, "y", array, 8+8*size), member(b, "d", char, 8+32*size))
			b.Composite(btf.KindUnion, fmt.Sprint("u", i), 4*size, false, member(b, "x", alias, 0),
				member(b, "y", array, 0))
			if x.Kind == btf.KindInt {
				b.Composite(btf.KindStruct, fmt.Sprint("bits", i), 16, true,
					bitfield(b, "a", number, 0, 90), bitfield(b, "b", number, 90, 30))
			}
			b.DeclTag("bpf_kfunc", b.Func(fmt.Sprint("f", i), b.FuncProto(number,
				btf.Param{NameOff: b.Name("x"), Type: number}), btf.LinkageGlobal), btf.DeclTagWhole)
		}
		blob := b.Finish()
		var text bytes.Buffer
		must.OK(t, cheader.Write(&text, blob, nil))
		compileEverywhere(t, text.String()+assertions(blob), c.machines...)
	}
}

// TestBpftool checks that our text equals bpftool's where bpftool's text is right.
func TestBpftool(t *testing.T) {
	programtest.Need(t, "gcc", "bpftool")
	// bpftool drops the attributes of unions, and of packed structs that have only bitfields
	var lines []string
	for line := range strings.Lines(layouts) {
		if !strings.Contains(line, "union ") && !strings.Contains(line, "packedbi") {
			lines = append(lines, line)
		}
	}
	o := compile(t, strings.Join(lines, ""), "gcc", "-std=gnu17", "-gbtf",
		"-fno-eliminate-unused-debug-types")
	theirs := must.Get(exec.Command("bpftool", "btf", "dump", "file", o, "format", "c").Output())(t)
	b := must.Get(btf.ReadOne(o, nil))(t)
	var ours bytes.Buffer
	must.OK(t, cheader.Write(&ours, b, nil))
	// bpftool writes its pragmas for all compilers
	guards := strings.NewReplacer("#ifdef __clang__\n#if __has_attribute(preserve_access_index)\n", "",
		"#endif\n#endif\n#elif defined(__GNUC__)\n"+
			"#if defined(__bpf__) && !defined(BPF_NO_PRESERVE_ACCESS_INDEX)\n"+
			"#error \"gcc: read fields with BPF_CORE_READ, and define BPF_NO_PRESERVE_ACCESS_INDEX\"\n"+
			"#endif\n#pragma GCC diagnostic push\n"+
			"#pragma GCC diagnostic ignored \"-Wattributes\"\n"+
			"#pragma GCC diagnostic ignored \"-Wpacked-not-aligned\"\n", "",
		"#endif\n#endif\n#elif defined(__GNUC__)\n#pragma GCC diagnostic pop\n", "")
	if mine := guards.Replace(ours.String()); mine != string(theirs) {
		t.Errorf("ours:\n%s\nbpftool's:\n%s", mine, theirs)
	}
}

// TestNoWarnings compiles a header with structs, and with a kfunc that has an attribute unknown to
// gcc. It compiles the header both for BPF and for the host, with all warnings as errors. For gcc's
// BPF target, the header has an error.
func TestNoWarnings(t *testing.T) {
	b := btf.NewBuilder(nil, nil, nil)
	integer := b.Int("int", 4, btf.IntSigned, 0)
	b.Composite(btf.KindStruct, "s", 4, false, btf.Member{NameOff: b.Name("x"), Type: integer})
	line := b.Composite(btf.KindUnion, "line", 64, false,
		btf.Member{NameOff: b.Name("x"), Type: integer})
	b.Composite(btf.KindStruct, "packed", 68, false, btf.Member{NameOff: b.Name("a"), Type: integer},
		btf.Member{NameOff: b.Name("b"), Type: line, Offset: 32})
	tag := b.Add(btf.Type{Kind: btf.KindTypeTag, KFlag: true, NameOff: b.Name("address_space(1)"),
		SizeOrType: integer})
	proto := b.FuncProto(b.Ref(btf.KindPtr, "", tag))
	f := b.Func("bpf_arena", proto, btf.LinkageStatic)
	b.DeclTag("bpf_kfunc", f, 1<<32-1)
	var text bytes.Buffer
	must.OK(t, cheader.Write(&text, b.Finish(), nil))
	if !strings.Contains(text.String(), "__attribute__((address_space(1))) *bpf_arena(void)") {
		t.Error("no such attribute in\n" + text.String())
	}
	path := filepath.Join(t.TempDir(), "x.c")
	must.OK(t, os.WriteFile(path, text.Bytes(), 0o666))
	for command, want := range map[string]string{
		"gcc": "", "clang": "", "clang -target bpf": "",
		"gcc -D__bpf__ -DBPF_NO_PRESERVE_ACCESS_INDEX": "",
		"gcc -D__bpf__": "read fields with BPF_CORE_READ", // what gcc's BPF target predefines
	} {
		args := append(strings.Fields(command), "-Wall", "-Werror", "-fsyntax-only", path)
		if _, err := exec.LookPath(args[0]); err != nil {
			t.Log("SKIPPED:", err)
			continue
		}
		out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		if (err == nil) != (want == "") || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
}
