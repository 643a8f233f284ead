package bpftest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/programs/core"
)

// Random writes random BPF programs for a kernel. For each program it picks types of the kernel,
// changes them as programs or other versions of the kernel would, and adds relocations about these
// types and their members.
type Random struct {
	*rand.Rand
	order  binary.ByteOrder
	kernel *core.BTF // the BTF with the type on which root works
	roots  []core.Found
	n      int // the number of types, for their flavors
	source strings.Builder
	asks   []string
	// Guards makes programs that may be loaded: they access no memory of the kernel, and test with
	// some relocations whether to use others.
	Guards bool
	guards []string // conditions about the types of the program
	// numbers are expressions about these types whose values differ between kernels.
	numbers []string
}

// NewRandom returns a Random whose programs depend only on the kernel and the seed.
func NewRandom(seed uint64, kernel *core.Kernel) *Random {
	r := &Random{Rand: rand.New(rand.NewPCG(seed, 1)), order: kernel.Vmlinux.Order}
	r.add(kernel.Vmlinux)
	for _, m := range kernel.Modules {
		r.add(m.BTF)
	}
	return r
}

// add adds the types for which a program can have a local version.
func (r *Random) add(b *core.BTF) {
	for i := range b.Types {
		t := &b.Types[i]
		switch {
		case !isIdentifier(b.TypeName(t)):
		case t.Kind.IsComposite(), t.Kind == btf.KindTypedef, t.Kind.IsEnum():
			r.roots = append(r.roots, core.Found{BTF: b, ID: b.StartID + uint32(i)})
		}
	}
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

var keywords = strings.Fields(`asm auto break case char const continue default do double else enum
	extern float for goto if inline int long register restrict return short signed sizeof static
	struct switch typedef typeof union unsigned void volatile while linux unix out P bool true false
	_Bool _Static_assert _Alignas _Alignof _Atomic _Complex _Generic _Imaginary _Noreturn
	_Thread_local SEC nullptr`)

func isIdentifier(name string) bool {
	return identifier.MatchString(name) && !slices.Contains(keywords, name) &&
		!strings.HasPrefix(name, "__builtin")
}

// node is the part of a local type that is needed to find the path to a field.
type node struct {
	kind   btf.Kind
	fields []field
	elem   *node
	nelems int
	flex   bool // whether this is an array of no elements at the end of a struct
}

type field struct {
	name     string
	bitfield bool
	*node
}

// chance returns true with this probability, in percent.
func (r *Random) chance(percent int) bool { return r.IntN(100) < percent }

// Compile returns the object file of n programs, which are named f0, f1, …, and their sources. The
// object file lacks the programs for which clang crashes.
func (r *Random) Compile(t testing.TB, n int) (object []byte, sources map[string]string) {
	t.Helper()
	sources = map[string]string{}
	var names []string
	for i := range n {
		name := fmt.Sprintf("f%d", i)
		names = append(names, name)
		sources[name] = r.program(name)
	}
	for {
		source := externs
		for _, name := range names {
			source += sources[name] + "\n"
		}
		object, message := compile(t, source, r.order)
		if object != nil {
			return object, sources
		}
		at := crash.FindStringSubmatch(message)
		if at == nil {
			t.Fatalf("clang: %s\n%s", message, source)
		}
		names = slices.DeleteFunc(names, func(name string) bool { return name == at[1] })
	}
}

// crash matches the part of clang's message that names the function for which clang crashed.
var crash = regexp.MustCompile(`(?:on function "|declaration ')(f\d+)`)

// program returns the source of one program and its types.
func (r *Random) program(name string) string {
	r.source.Reset()
	r.asks, r.guards, r.numbers = nil, nil, nil
	for range 1 + r.IntN(2) {
		r.root(r.roots[r.IntN(len(r.roots))])
	}
	if r.chance(5) {
		r.definition("struct no_such_type___%d { int x; } P;", r.next())
		r.ask("field_exists(((struct no_such_type___%d *)0)->x)", r.n)
		r.addGuard("field_exists(((struct no_such_type___%d *)0)->x)", r.n)
		r.ask("byte_off(((struct no_such_type___%d *)0)->x)", r.n)
		r.ask("type_size(struct no_such_type___%d)", r.n)
	}
	if r.Guards {
		r.guard(name)
	}
	return fmt.Sprintf("%sSEC(\"socket\") int %s(void *ctx) {\n%s\treturn 0;\n}\n", r.source.String(),
		name, strings.Join(r.asks, ""))
}

// guard puts most of the relocations of a program into if statements, some of them nested. Some
// programs also refer to symbols, and some call a function that has a part of the statements.
func (r *Random) guard(name string) {
	for _, use := range []string{"no_kfunc0()", "no_kfunc1(2)", "out = no_ksym"} {
		if r.chance(15) {
			r.asks = slices.Insert(r.asks, r.IntN(len(r.asks)+1), "\t"+use+";\n")
		}
	}
	var body []string
	for _, ask := range r.asks {
		for range r.IntN(3) {
			ask = r.guarded(ask)
		}
		body = append(body, ask)
	}
	if r.chance(20) {
		n := r.IntN(len(body) + 1)
		r.definition("%s__attribute__((noinline)) int %s_sub(void) {\n%s\treturn out;\n}",
			[]string{"", "static "}[r.IntN(2)], name, strings.Join(body[:n], ""))
		body = append(body[n:], r.guarded(fmt.Sprintf("\tout = %s_sub();\n", name)))
	}
	r.asks = body
}

// guarded puts a statement into an if statement.
func (r *Random) guarded(ask string) string {
	ask = fmt.Sprintf("\tif (%s) {\n%s\t}\n", r.condition(2), ask)
	if r.chance(20) {
		ask = strings.TrimSuffix(ask, "\n") + " else {\n\tout = 1;\n\t}\n"
	}
	return ask
}

// externs has the symbols to which programs with guards refer. Kernels lack those whose name begins
// with no_.
const externs = `
const volatile int setting0, setting1;
#define kconfig __attribute__((section(".kconfig")))
#define weak_ksym __attribute__((section(".ksyms"), weak))
extern int LINUX_KERNEL_VERSION kconfig;
extern _Bool CONFIG_NO_SUCH __attribute__((weak)) kconfig;
struct cgroup { int any; };
extern void bpf_cgroup_release(struct cgroup *) weak_ksym;
extern void no_kfunc0(void) weak_ksym, no_kfunc1(int) weak_ksym;
extern int no_ksym weak_ksym;
// clang must not combine two tests of addresses with |, which the verifier refuses for addresses.
#define is_there(symbol) ({ const void *at = symbol; asm volatile("" : "+r"(at)); at != 0; })
`

// condition returns a condition of a guard.
func (r *Random) condition(depth int) string {
	if depth > 0 && r.chance(25) {
		return fmt.Sprintf("(%s %s %s)", r.condition(depth-1), []string{"&&", "||"}[r.IntN(2)],
			r.condition(depth-1))
	}
	var c string
	switch n := r.IntN(10); {
	case n < 5 && len(r.guards) > 0:
		c = r.guards[r.IntN(len(r.guards))]
	case n < 8 && len(r.numbers) > 0:
		c = r.comparison()
	case n < 9:
		c = []string{"no_kfunc0", "no_kfunc1", "&no_ksym", "bpf_cgroup_release"}[r.IntN(4)]
		c = "is_there(" + c + ")"
	default:
		c = []string{"setting0", "setting1", "CONFIG_NO_SUCH", "(LINUX_KERNEL_VERSION < 0x50000)",
			"(out == 3)"}[r.IntN(5)]
	}
	if r.chance(20) {
		return "!" + c
	}
	return c
}

// comparison returns a comparison of numbers that differ between kernels.
func (r *Random) comparison() string {
	number := func() string { return r.numbers[r.IntN(len(r.numbers))] }
	left, right := number(), fmt.Sprint([]int{1, 2, 4, 8, 12, 16, 24, 40, 100}[r.IntN(9)])
	if r.chance(40) {
		left = fmt.Sprintf("(%s %s %s)", left, []string{"+", "|", "^", "*"}[r.IntN(4)], number())
		right += "2" // a sum that is compared with 0 becomes a comparison with a negation
	}
	if r.chance(10) {
		right = number()
	}
	return fmt.Sprintf("(%s %s %s)", left, []string{"<", ">", "==", "!=", ">="}[r.IntN(5)], right)
}

func (r *Random) next() int {
	r.n++
	return r.n
}

func (r *Random) definition(format string, args ...any) {
	fmt.Fprintf(&r.source, format+"\n", args...)
}

func (r *Random) ask(format string, args ...any) {
	r.asks = append(r.asks, "\tout = "+fmt.Sprintf(format, args...)+";\n")
}

func (r *Random) addGuard(format string, args ...any) {
	r.guards = append(r.guards, fmt.Sprintf(format, args...))
}

// root defines a local version of a type, and adds relocations about it.
func (r *Random) root(of core.Found) {
	r.kernel = of.BTF
	t, blob := r.kernel.ByID(of.ID)
	exact := r.chance(30)
	flavored := fmt.Sprintf("%s___f%d", r.kernel.TypeName(t), r.next())
	name := flavored
	var root *node
	switch {
	case t.Kind == btf.KindTypedef:
		var text string
		text, root = r.declare(t.SizeOrType, flavored, 2, exact)
		r.definition("typedef %s;", text)
	case t.Kind.IsEnum():
		name = "enum " + flavored
		text, values := r.enum(t, blob, exact)
		r.definition("%s;", strings.Replace(text, "enum", name, 1))
		r.enumerators(name, values)
		root = &node{kind: t.Kind}
	default:
		var text string
		text, root = r.composite(t, blob, flavored, 3, exact)
		name, _, _ = strings.Cut(text, " {")
		r.definition("%s;", text)
	}
	if root.kind.IsComposite() && len(root.fields) > 0 {
		for range 2 + r.IntN(6) {
			r.field(name, root)
		}
	}
	for _, ask := range []string{"type_exists", "type_size", "type_matches", "type_id_target",
		"type_id_local"} {
		if r.chance(20) || exact && ask == "type_matches" {
			if name != "void" {
				r.ask("%s(%s)", ask, name)
				r.addGuard("%s(%s)", []string{"type_exists", "type_matches", "type_size"}[r.n%3], name)
				r.numbers = append(r.numbers, fmt.Sprintf("type_size(%s)", name))
			}
		}
	}
}

// field adds a relocation about a field of the root, or reads or writes the field.
func (r *Random) field(name string, root *node) {
	path, at, bitfield, index := "", root, false, false
	for {
		switch {
		case at.kind.IsComposite() && len(at.fields) > 0 && (path == "" || r.chance(75)):
			f := at.fields[r.IntN(len(at.fields))]
			if f.bitfield && !strings.Contains(name, " ") {
				return // clang leaves out the typedef for bitfields
			}
			path, at, bitfield, index = path+"."+f.name, f.node, f.bitfield, false
			continue
		case at.kind == btf.KindArray && (at.nelems > 0 || at.flex) && r.chance(75):
			n := at.nelems
			if n == 0 {
				n = 4
			}
			path, at, index = path+fmt.Sprintf("[%d]", r.IntN(min(n, 20))), at.elem, true
			continue
		}
		break
	}
	pointer := "0"
	access := r.IntN(10)
	scalar := at.kind == btf.KindInt || at.kind == btf.KindPtr || at.kind.IsEnum()
	if access < 3 && scalar && !bitfield && !r.Guards {
		pointer = "ctx"
	}
	start := fmt.Sprintf("((%s *)%s)->", name, pointer)
	if strings.Contains(name, " ") && r.chance(5) { // with an index, clang leaves out a typedef
		start = fmt.Sprintf("((%s *)%s)[%d].", name, pointer, r.IntN(4))
	}
	expr := start + path[1:]
	r.addGuard("field_exists(%s)", expr)
	r.numbers = append(r.numbers, fmt.Sprintf("field_exists(%s)", expr))
	if !index {
		r.numbers = append(r.numbers, fmt.Sprintf("(field_exists(%s) ? byte_sz(%s) : 0)", expr, expr))
	}
	asks := []string{"byte_off", "byte_sz", "field_exists"}
	if !index && (at.kind == btf.KindInt || at.kind.IsEnum()) {
		asks = append(asks, "is_signed", "lshift", "rshift")
	}
	switch {
	case pointer == "0":
		r.ask("%s(%s)", asks[r.IntN(len(asks))], expr)
	case access == 1 && at.kind == btf.KindInt:
		r.ask("*(unsigned char *)&%s", expr)
	case access == 0 && at.kind == btf.KindInt:
		r.asks = append(r.asks, "\t"+expr+" = 1;\n")
	default:
		r.ask("(unsigned long)%s", expr)
	}
}

// enumerators adds relocations about an enum's values.
func (r *Random) enumerators(name string, values []string) {
	for range 1 + r.IntN(3) {
		ask, value := []string{"enum_exists", "enum_value"}[r.IntN(2)], values[r.IntN(len(values))]
		r.ask("%s(%s, %s)", ask, name, value)
		r.addGuard("enum_exists(%s, %s)", name, value)
	}
}
