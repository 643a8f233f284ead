package core_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/programs/bpftest"
	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// ask returns our answers as text, in the form in which we get libbpf's. The first result ignores
// the size that the instruction loads or stores; the second one, patched, does not.
func ask(t testing.TB, object []byte, kernel *core.Kernel) (answers, patched bpftest.Answers,
	kinds map[bpftest.Site]core.Kind) {
	t.Helper()
	o := must.Get(bpfobj.Read(object))(t)
	answers, patched = bpftest.Answers{}, bpftest.Answers{}
	kinds = map[bpftest.Site]core.Kind{}
	each := func(f func(bpftest.Site, *core.Spec, core.Relocation)) {
		for _, fn := range o.Functions {
			for at, r := range fn.Relocations {
				s := must.Get(core.Parse(o.BTF, r))(t)
				f(bpftest.Site{Function: fn.Name, Insn: at}, s, r)
			}
		}
	}
	names := map[string]bool{}
	each(func(_ bpftest.Site, s *core.Spec, _ core.Relocation) {
		root, _ := s.BTF.ByID(s.Root)
		names[core.Essential(s.BTF.TypeName(root))] = true
	})
	k := kernel.Index(names)
	each(func(at bpftest.Site, s *core.Spec, r core.Relocation) {
		answers[at] = text(k.Resolve(s, 0))
		patched[at] = text(k.Resolve(s, r.Memory))
		kinds[at] = r.Kind
	})
	return answers, patched, kinds
}

func text(a core.Answer) string {
	switch {
	case a.Refused != nil:
		return bpftest.Refused
	case a.Poison:
		return bpftest.Poison
	}
	return strconv.FormatUint(a.Value, 10)
}

// theKernel has the types to which the programs in theCases refer.
const theKernel = `
typedef unsigned int u32;
struct inner { int a; long b; int deep[3][4]; };
struct pair { int first, second; };
enum color { RED = 1, GREEN = -2, BLUE___v2 = 7 };
enum big { SMALL = 1, HUGE_VALUE = 0x123456789a };
struct only_declared;
typedef struct { int counter; } atomic_t;
typedef struct only_declared *handle_t;
typedef u32 word_t;
typedef int (*callback_t)(struct pair *, int);
struct s {
	char c;
	struct inner in;
	struct { int anon_first; union { int anon_a; char anon_b[8]; }; };
	const u32 u;
	struct inner *ptr;
	struct pair pairs[4];
	unsigned bits:3, more_bits:7;
	int signed_bits:5;
	enum color color;
	enum big big;
	struct only_declared *declared;
	double d;
	unsigned long wide;
	unsigned short narrow;
	int (*call)(int);
	int was_pointer;
	int tail[];
};
struct zero { int n; int none[0]; int last; };
union u { int a; long b; };
struct same { int x; long y; };
struct s s; struct zero zero; union u u; struct same same; atomic_t atomic; word_t word;
handle_t handle; callback_t callback; enum big big;
struct moved { long before; int x; } moved;
`

// theTwins has types with the same names as types in theKernel. Some agree with the types in
// theKernel, others don't.
const theTwins = `
struct pair { int first, second; };
struct inner { int a; long b; char more; struct pair *pair; };
enum color { RED = 1, GREEN = -2, BLUE = 7, PINK = 4 };
typedef struct { int counter; struct inner in; } atomic_t;
struct same { int x; long other; };
struct zero { int n; int last; };
union u { long b; struct inner in; };
struct moved { int x; long before; struct zero zero; };
struct s { char c; struct inner in; int pairs[3]; struct { unsigned bits:5; enum color color; }; };
struct s s; union u u; atomic_t atomic; struct same same; struct moved moved;
`

// theModule has types that theKernel lacks, and one (struct same) whose name theKernel also has.
const theModule = `
struct own { int a; struct same { long own_x, x; } same; struct { char b; int flex[]; } in; };
struct hidden { struct own *own; unsigned low:4, high:4; };
enum own_enum { OWN_A, OWN_B = 5 };
typedef struct own own_t;
struct own own; struct hidden hidden; enum own_enum own_enum; own_t typed;
`

// theCases lists relocations: for each, a local type, an expression with this type, and libbpf's
// answer. The field cilium is the answer of cilium/ebpf if it differs from libbpf's, and the field
// why says which rule makes the difference.
var theCases = []struct{ name, local, expr, want, cilium, why string }{
	// Where a field is.
	{"first member", "struct s___1 { char c; } P;", "byte_off(((struct s___1 *)0)->c)", "0", "", ""},
	{"other offset", "struct s___2 { struct inner___2 { long b; } P in; } P;",
		"byte_off(((struct s___2 *)0)->in.b)", "16", "", ""},
	{"other order", "struct same___1 { long y; int x; } P;",
		"byte_off(((struct same___1 *)0)->x)", "0", "", ""},
	{"in an anonymous struct there", "struct s___3 { int anon_first; } P;",
		"byte_off(((struct s___3 *)0)->anon_first)", "72", "", ""},
	{"in an anonymous union of an anonymous struct there", "struct s___4 { char anon_b[4]; } P;",
		"byte_off(((struct s___4 *)0)->anon_b[3])", "79", "", ""},
	{"in an anonymous struct here", "struct s___5 { struct { long x; struct { char c; }; }; } P;",
		"byte_off(((struct s___5 *)0)->c)", "0", "", ""},
	{"element of an array of arrays",
		"struct inner___6 { int deep[2][2]; } P; struct s___6 { struct inner___6 in; } P;",
		"byte_off(((struct s___6 *)0)->in.deep[1][1])", "44", "", ""},
	{"member of an element", "struct s___7 { struct { int second; } P pairs[2]; } P;",
		"byte_off(((struct s___7 *)0)->pairs[1].second)", "108", "", ""},
	{"element of the root", "struct moved___1 { int x; } P;",
		"byte_off(((struct moved___1 *)0)[2].x)", "40", "", ""},
	{"array of other elements", "struct s___8 { int pairs[9]; } P;",
		"byte_off(((struct s___8 *)0)->pairs)", "poison", "96",
		"cilium compares the types of elements only if the access goes into them"},
	{"outside of the array there", "struct s___9 { struct { int first; } P pairs[9]; } P;",
		"byte_off(((struct s___9 *)0)->pairs[8].first)", "poison", "", ""},
	{"flexible array", "struct s___10 { int tail[4]; } P;",
		"byte_off(((struct s___10 *)0)->tail[3])", "200", "", ""},
	{"flexible array here", "struct s___11 { struct { int first; } P pairs[]; } P;",
		"byte_off(((struct s___11 *)0)->pairs[3].first)", "120", "", ""},
	{"array of no elements in the middle", "struct zero___1 { int none[2]; } P;",
		"byte_off(((struct zero___1 *)0)->none[1])", "poison", "refused", "cilium gives up"},
	{"offset of such an array", "struct zero___2 { int none[2]; } P;",
		"byte_off(((struct zero___2 *)0)->none)", "4", "", ""},
	{"struct here, union there", "union s___12 { struct { int a; } P u; } P; ",
		"byte_off(((union s___12 *)0)->u.a)", "poison", "", ""},
	{"member of a union", "union u___1 { long b; } P;", "byte_off(((union u___1 *)0)->b)", "0", "",
		""},
	{"struct in place of the union", "struct u___2 { long b; } P;",
		"byte_off(((struct u___2 *)0)->b)", "poison", "0",
		"libbpf requires that the kernel's type is of the same kind as the local type"},
	{"typedef of an anonymous struct", "typedef struct { int counter; } P atomic_t___1;",
		"byte_off(((atomic_t___1 *)0)->counter)", "0", "", ""},
	{"missing type", "struct nothing___1 { int x; } P;", "byte_off(((struct nothing___1 *)0)->x)",
		"poison", "", ""},
	{"missing field", "struct s___13 { int gone; } P;", "byte_off(((struct s___13 *)0)->gone)",
		"poison", "", ""},

	// Whether a field exists: it counts only if its type is compatible.
	{"exists", "struct s___20 { char c; } P;", "field_exists(((struct s___20 *)0)->c)", "1", "", ""},
	{"doesn't exist", "struct s___21 { int gone; } P;", "field_exists(((struct s___21 *)0)->gone)",
		"0", "", ""},
	{"in a type that doesn't exist", "struct nothing___2 { int x; } P;",
		"field_exists(((struct nothing___2 *)0)->x)", "0", "", ""},
	{"integers of all sizes and signs", "struct s___22 { unsigned long c; } P;",
		"field_exists(((struct s___22 *)0)->c)", "1", "", ""},
	{"pointers to anything", "struct s___23 { char **ptr; } P;",
		"field_exists(((struct s___23 *)0)->ptr)", "1", "", ""},
	{"integer in place of a pointer", "struct s___24 { long ptr; } P;",
		"field_exists(((struct s___24 *)0)->ptr)", "0", "", ""},
	{"pointer in place of an integer", "struct s___25 { void *was_pointer; } P;",
		"field_exists(((struct s___25 *)0)->was_pointer)", "0", "", ""},
	{"enum of one name", "enum color___26 { X26 }; struct s___26 { enum color___26 color; } P;",
		"field_exists(((struct s___26 *)0)->color)", "1", "", ""},
	{"anonymous enum", "struct s___27 { enum { X27 } color; } P;",
		"field_exists(((struct s___27 *)0)->color)", "1", "", ""},
	{"enum of another name", "enum colour { X28 }; struct s___28 { enum colour color; } P;",
		"field_exists(((struct s___28 *)0)->color)", "0", "", ""},
	{"enum in place of an enum64", "enum big___29 { X29 }; struct s___29 { enum big___29 big; } P;",
		"field_exists(((struct s___29 *)0)->big)", "1", "", ""},
	{"integer in place of an enum", "struct s___30 { int color; } P;",
		"field_exists(((struct s___30 *)0)->color)", "0", "", ""},
	{"floats", "struct s___31 { float d; } P;", "field_exists(((struct s___31 *)0)->d)", "1", "", ""},
	{"arrays of compatible elements", "struct s___32 { struct { int x; } P pairs[1]; } P;",
		"field_exists(((struct s___32 *)0)->pairs)", "1", "", ""},
	{"arrays of others", "struct s___33 { long pairs[4]; } P;",
		"field_exists(((struct s___33 *)0)->pairs)", "0", "1", "as for array of other elements"},
	{"union in place of a struct", "struct s___34 { union { int x; } P in; } P;",
		"field_exists(((struct s___34 *)0)->in)", "1", "", ""},
	{"qualifiers", "typedef volatile int v35; struct s___35 { v35 u; } P;",
		"field_exists(((struct s___35 *)0)->u)", "1", "", ""},

	// The size, the sign and the shifts of a field.
	{"size", "struct s___40 { int c; } P;", "byte_sz(((struct s___40 *)0)->c)", "1", "", ""},
	{"size of an array", "struct s___41 { struct { int x; } P pairs[1]; } P;",
		"byte_sz(((struct s___41 *)0)->pairs)", "32", "", ""},
	{"size of an element", "struct s___42 { struct { int x; } P pairs[2]; } P;",
		"byte_sz(((struct s___42 *)0)->pairs[1])", "8", "", ""},
	{"size of a pointer", "struct s___43 { void *ptr; } P;", "byte_sz(((struct s___43 *)0)->ptr)",
		"8", "", ""},
	{"signed", "struct s___44 { unsigned was_pointer; } P;",
		"is_signed(((struct s___44 *)0)->was_pointer)", "1", "", ""},
	{"unsigned", "struct s___45 { int u; } P;", "is_signed(((struct s___45 *)0)->u)", "0", "", ""},
	{"signed enum", "enum color___46 { A46 }; struct s___46 { enum color___46 color; } P;",
		"is_signed(((struct s___46 *)0)->color)", "1", "", ""},
	{"bitfield", "struct s___48 { unsigned x:1, more_bits:2; } P;",
		"byte_off(((struct s___48 *)0)->more_bits)", "128", "", ""},
	{"left shift", "struct s___49 { unsigned more_bits:2; } P;",
		"lshift(((struct s___49 *)0)->more_bits)", "54", "", ""},
	{"right shift", "struct s___50 { unsigned more_bits:2; } P;",
		"rshift(((struct s___50 *)0)->more_bits)", "57", "", ""},
	{"signed bitfield", "struct s___51 { unsigned signed_bits:2; } P;",
		"is_signed(((struct s___51 *)0)->signed_bits)", "1", "", ""},
	{"no bitfield there", "struct s___52 { unsigned u:2; } P;",
		"lshift(((struct s___52 *)0)->u)", "32", "", ""},
	{"no bitfield here", "struct s___53 { unsigned char bits; } P;",
		"rshift(((struct s___53 *)0)->bits)", "61", "", ""},

	// Loads: it must be possible to adapt their size. cilium ignores the size.
	{"load", "struct s___60 { unsigned u; } P;", "((struct s___60 *)ctx)->u", "84", "", ""},
	{"load of a larger unsigned", "struct s___61 { unsigned wide; } P;",
		"((struct s___61 *)ctx)->wide", "160", "", ""},
	{"load of a smaller unsigned", "struct s___62 { unsigned narrow; } P;",
		"((struct s___62 *)ctx)->narrow", "168", "", ""},
	{"load of a larger signed", "struct s___63 { short was_pointer; } P;",
		"((struct s___63 *)ctx)->was_pointer", "poison", "184",
		"cilium doesn't check the size of a load"},
	{"load of a pointer", "struct s___64 { void *ptr; } P;",
		"(long)((struct s___64 *)ctx)->ptr", "88", "", ""},

	// Whole types: their members don't matter.
	{"type", "struct s___70 { int gone; } P;", "type_exists(struct s___70)", "1", "", ""},
	{"no type", "struct nothing___70 { int x; } P;", "type_exists(struct nothing___70)", "0", "", ""},
	{"union", "union s___71 { int x; } P;", "type_exists(union s___71)", "0", "", ""},
	{"typedef", "typedef struct { int x; } atomic_t___72;", "type_exists(atomic_t___72)", "1", "", ""},
	{"typedef of something else", "typedef int atomic_t___73;", "type_exists(atomic_t___73)", "0", "",
		""},
	{"typedef of another integer", "typedef long word_t___74;", "type_exists(word_t___74)", "1", "",
		""},
	{"typedef of a pointer to an incomplete type",
		"struct x75; typedef struct x75 *handle_t___75;", "type_exists(handle_t___75)", "1", "", ""},
	{"typedef of a pointer to a complete type",
		"struct x76 { int a; }; typedef struct x76 *handle_t___76;", "type_exists(handle_t___76)",
		"0", "", ""},
	{"typedef of a function pointer", "struct x77 { int a; };" +
		"typedef long (*callback_t___77)(struct x77 *, char);", "type_exists(callback_t___77)", "1",
		"", ""},
	{"more parameters", "struct x78 { int a; };" +
		"typedef int (*callback_t___78)(struct x78 *, int, int);", "type_exists(callback_t___78)", "0",
		"", ""},
	{"enum", "enum color___79 { Y79 };", "type_exists(enum color___79)", "1", "", ""},
	{"size of a type", "struct s___80 { int gone; } P;", "type_size(struct s___80)", "192", "", ""},
	{"size of no type", "struct nothing___81 { int x; } P;", "type_size(struct nothing___81)", "0",
		"poison", "cilium poisons the size of a missing type"},
	{"id of no type", "struct nothing___82 { int x; } P;", "type_id_target(struct nothing___82)", "0",
		"poison", "cilium poisons the id of a missing type"},

	// Types that match: the kernel's type has all members of the local type, with the same types.
	{"matches", "struct pair___90 { int second; } P;", "type_matches(struct pair___90)", "1", "", ""},
	{"a different sign", "struct pair___91 { unsigned second; } P;", "type_matches(struct pair___91)",
		"0", "", ""},
	{"a different size", "struct pair___92 { long second; } P;", "type_matches(struct pair___92)",
		"0", "", ""},
	{"more members", "struct pair___93 { int first, second, third; } P;",
		"type_matches(struct pair___93)", "0", "", ""},
	{"through a pointer, same name", "struct inner___94 { char x; };" +
		"struct s___94 { struct inner___94 *ptr; } P;", "type_matches(struct s___94)", "1", "", ""},
	{"through a pointer, other name", "struct inn { long b; }; struct s___95 { struct inn *ptr; } P;",
		"type_matches(struct s___95)", "0", "1",
		"clang only declares the types that pointers lead to; cilium ignores their names"},
	{"number of elements", "struct pair; struct s___96 { struct pair pairs[3]; } P;",
		"type_matches(struct s___96)", "0", "", ""},
	{"enumerators by name", "enum color___97 { RED___97 = 5, PINK___97 = 8 };",
		"type_matches(enum color___97)", "0", "", ""},
	{"enumerators by name and size", "enum color___98 { RED___98 = 5, BLUE___98 = -8 };",
		"type_matches(enum color___98)", "1", "", ""},
	{"forward declaration", "struct inner; struct s___99 { struct inner *ptr; } P;",
		"type_matches(struct s___99)", "1", "", ""},
	{"function pointer", "struct s___100 { int (*call)(int); } P;", "type_matches(struct s___100)",
		"1", "", ""},
	{"other function pointer", "struct s___101 { long (*call)(int); } P;",
		"type_matches(struct s___101)", "0", "", ""},

	// Enumerators: they are found by name; flavors in the kernel and in the program don't matter.
	{"enumerator", "enum color___110 { GREEN___110 = 1 };",
		"enum_exists(enum color___110, GREEN___110)", "1", "", ""},
	{"negative value", "enum color___111 { GREEN___111 = 1 };",
		"enum_value(enum color___111, GREEN___111)", "18446744073709551614", "", ""},
	{"flavor there", "enum color___112 { BLUE___112 = 1 };",
		"enum_value(enum color___112, BLUE___112)", "7", "", ""},
	{"no enumerator", "enum color___113 { PINK = 1 };", "enum_exists(enum color___113, PINK)", "0",
		"", ""},
	{"no value", "enum color___114 { PINK___114 = 1 };",
		"enum_value(enum color___114, PINK___114)", "poison", "", ""},
	{"64 bits", "enum big___115 { HUGE_VALUE___115 = 1 };",
		"enum_value(enum big___115, HUGE_VALUE___115)", "78187493530", "", ""},
}

// TestCases checks that we, libbpf and cilium/ebpf agree about each case, apart from the
// differences that the table explains.
func TestCases(t *testing.T) {
	lib := bpftest.NewLibbpf(t)
	vmlinux := bpftest.Kernel(t, theKernel)
	source := "struct pair { int first, second; };\n"
	for i, c := range theCases {
		source += fmt.Sprintf("%s\nSEC(\"socket\") int c%d(void *ctx) { out = %s; return 0; }\n", c.local,
			i, c.expr)
	}
	object := bpftest.Compile(t, source)
	_, libbpf := lib.Ask(t, object, vmlinux)
	cilium := bpftest.Cilium(t, object, vmlinux)
	_, ours, _ := ask(t, object, bpftest.Parse(t, vmlinux))
	seen := map[string]int{}
	for at := range ours {
		i, _ := strconv.Atoi(at.Function[1:])
		c := theCases[i]
		seen[at.Function]++
		if c.cilium == "" {
			c.cilium = c.want
		}
		if ours[at] != c.want || libbpf[at] != c.want || cilium[at] != c.cilium {
			t.Errorf("%s: %s %s: we say %s, want %s; libbpf says %s; cilium says %s, want %s", c.name,
				c.local, c.expr, ours[at], c.want, libbpf[at], cilium[at], c.cilium)
		}
	}
	for i, c := range theCases {
		if n := seen[fmt.Sprintf("c%d", i)]; n != 1 {
			t.Errorf("%s: %s: %d relocations, want 1", c.name, c.expr, n)
		}
	}
}

// TestOrder shows an intended difference from libbpf. When libbpf loads an object, a relocation
// that matches some candidates removes the others for all later relocations of the same local type.
// So if a kernel has two types of one name, the order of instructions can matter. We answer each
// relocation as if it came first, because needs have no order.
func TestOrder(t *testing.T) {
	lib := bpftest.NewLibbpf(t)
	vmlinux := bpftest.Kernel(t, "struct s { int a; }; struct s s;",
		"struct s { long before; int b; }; struct s s;")
	object := bpftest.Compile(t, `struct s { int a, b; } P;
		SEC("socket") int p(void *ctx) {
			out = field_exists(((struct s *)0)->a);
			out = field_exists(((struct s *)0)->b);
			return 0;
		}`)
	ours, _, _ := ask(t, object, bpftest.Parse(t, vmlinux))
	separate, _ := lib.Ask(t, object, vmlinux)
	lib.Pruned = true
	together, _ := lib.Ask(t, object, vmlinux)
	for _, c := range []struct {
		who  string
		got  bpftest.Answers
		ones int
	}{{"we", ours, 2}, {"libbpf, separately", separate, 2}, {"libbpf, together", together, 1}} {
		ones := 0
		for _, a := range c.got {
			if a == "1" {
				ones++
			}
		}
		if ones != c.ones {
			t.Errorf("%s: %d fields exist, want %d: %v", c.who, ones, c.ones, c.got)
		}
	}
}
