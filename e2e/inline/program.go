package inline

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Program returns the source of a C program that a seed determines. It has many small functions
// that compilers inline, with parameters of all kinds. Running it takes a moment, and reaches most
// of the code; its only effect is to read and write its own variables.
//
// Before most calls, the program records in the variable "passed" what it is going to pass: the
// number of calls so far, the line of the call, and the values. "whole" has a bit for each value.
// The bit is set if the value can be compared: it has no padding, and the function doesn't take the
// address of the parameter. If a function does that, gcc says that the parameter is in memory, even
// if its value isn't there yet.
func Program(seed uint64) string {
	g := &author{Rand: rand.New(rand.NewPCG(seed, 1))}
	g.types()
	g.variables()
	for n := 0; n < 20+g.IntN(16); n++ {
		g.inlined(n)
	}
	g.hosts()
	return g.text.String()
}

type kind int

const (
	integer kind = iota
	floating
	pointer
	callback // a pointer to a function
	structure
)

// ctype is a type with a name of one word, or "struct NAME".
type ctype struct {
	kind
	name    string
	to      *ctype // of a pointer
	members []variable
}

type variable struct {
	name string
	*ctype
}

// called is a function that can be called, with the cost of running it and the size of its code.
type called struct {
	name       string
	params     []*ctype
	fixed      []string // by parameter: a constant that all calls pass, or ""
	addressed  []bool   // by parameter: whether the function uses its address
	cost, size int
}

type author struct {
	*rand.Rand
	text      strings.Builder
	depth     int // of blocks
	scalars   []*ctype
	records   []*ctype
	pointers  []*ctype
	all       []*ctype // what parameters can have
	globals   []variable
	functions []called
	// The rest belongs to the function that is being written.
	scope  []variable
	fresh  int
	cost   int
	size   int
	factor int // how often the statement runs
}

func (g *author) chance(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g *author, all []T) T { return all[g.IntN(len(all))] }

func (g *author) line(format string, args ...any) {
	g.text.WriteString(strings.Repeat("\t", g.depth))
	fmt.Fprintf(&g.text, format+"\n", args...)
}

func (g *author) types() {
	for _, name := range []string{"char", "schar", "uchar", "short", "ushort", "int", "uint",
		"long", "ulong", "truth", "wide", "color", "tiny"} {
		g.scalars = append(g.scalars, &ctype{kind: integer, name: name})
	}
	for _, name := range []string{"float", "double"} {
		g.scalars = append(g.scalars, &ctype{kind: floating, name: name})
	}
	g.line("typedef signed char schar; typedef unsigned char uchar; typedef unsigned short ushort;")
	g.line("typedef unsigned uint; typedef unsigned long ulong; typedef _Bool truth;")
	g.line("#if defined(__SIZEOF_INT128__) && !defined(NARROW)\ntypedef __int128 wide;")
	g.line("#else\ntypedef long long wide;\n#endif")
	g.line("typedef enum { RED, GREEN = 7, BLUE = -3 } color;")
	g.line("typedef enum __attribute__((packed)) { NONE, SOME, MANY } tiny;")
	g.line("typedef long (*callback)(long);")
	g.line("static __attribute__((noinline)) long twice(long v) { asm(\"\" : \"+r\"(v)); " +
		"return 2 * v; }")
	g.line("static __attribute__((noinline)) long next(long v) { asm(\"\" : \"+r\"(v)); " +
		"return v + 1; }")
	g.line("static inline long whole(double v) { return v > -1e6 && v < 1e6 ? (long)v : 0; }")
	g.line("static __attribute__((noinline)) void touch(void *p) { " +
		"asm volatile(\"\" :: \"r\"(p) : \"memory\"); }")
	g.all = append(g.all, g.scalars...)
	call := &ctype{kind: callback, name: "callback"}
	for _, t := range append(g.scalars, call) {
		if g.chance(60) {
			g.pointer(t)
		}
	}
	for n := range 5 {
		t := &ctype{kind: structure, name: fmt.Sprintf("struct s%d", n)}
		g.line("struct s%d {", n)
		for i := range 1 + g.IntN(1+g.IntN(4)) {
			m := variable{fmt.Sprintf("m%d", i), pick(g, append(g.all, call))}
			if n < 2 { // small ones, which fit into registers
				m.ctype = pick(g, g.scalars[:10])
			}
			t.members = append(t.members, m)
			g.line("\t%s %s;", m.ctype.name, m.name)
		}
		g.line("};")
		g.records = append(g.records, t)
		g.all = append(g.all, t)
		g.pointer(t)
	}
	g.all = append(g.all, call, call)
	g.all = append(g.all, g.pointers...) // pointers are what kernels use most
}

// pointer makes a type of pointers.
func (g *author) pointer(to *ctype) {
	t := &ctype{kind: pointer, to: to,
		name: strings.ReplaceAll(to.name, "struct ", "") + "_p"}
	g.line("typedef %s *%s;", to.name, t.name)
	g.pointers = append(g.pointers, t)
	g.all = append(g.all, t)
}

// variables writes one variable of each type, whose address can be taken.
func (g *author) variables() {
	g.line("volatile long work;")
	g.line("struct { volatile long count, line, whole; "+
		"char values[4][%d] __attribute__((aligned(16))); } passed;", slot)
	all := append(append([]*ctype{}, g.scalars...), &ctype{kind: callback, name: "callback"})
	for _, t := range append(all, g.records...) {
		v := variable{"g_" + strings.ReplaceAll(t.name, "struct ", ""), t}
		g.line("%s %s = %s;", t.name, v.name, g.initial(t))
		g.line("%s a%s[] = { %s, %s, %s, %s };", t.name, v.name, g.initial(t), g.initial(t),
			g.initial(t), g.initial(t))
		g.globals = append(g.globals, v)
	}
}

// initial is a constant that can initialize a variable.
func (g *author) initial(t *ctype) string {
	switch t.kind {
	case pointer:
		return "&" + g.global(t.to)
	case callback:
		return pick(g, []string{"twice", "next"})
	case structure:
		var all []string
		for _, m := range t.members {
			all = append(all, g.initial(m.ctype))
		}
		return "{ " + strings.Join(all, ", ") + " }"
	}
	return g.literal(t)
}

func (g *author) global(t *ctype) string {
	return "g_" + strings.ReplaceAll(t.name, "struct ", "")
}

func (g *author) literal(t *ctype) string {
	switch {
	case t.kind == floating:
		return fmt.Sprintf("%d.5", g.IntN(9))
	case t.name == "color":
		return pick(g, []string{"RED", "GREEN", "BLUE"})
	case t.name == "tiny":
		return pick(g, []string{"NONE", "SOME", "MANY"})
	case t.name == "truth":
		return pick(g, []string{"0", "1"})
	}
	return fmt.Sprint(pick(g, []int64{0, 1, -1, 5, 64, 127, -128, 255, 0x4000, -70000, 1 << 31,
		-1 << 40, 0x123456789abcdef}))
}

// value is an expression of type t.
func (g *author) value(t *ctype, depth int) string {
	var have []string
	for _, v := range g.scope {
		if v.ctype.name == t.name {
			have = append(have, v.name)
		} else if v.kind == structure {
			have = append(have, g.member(v.name+".", v.ctype, t)...)
		} else if v.kind == pointer && v.to.kind == structure {
			have = append(have, g.member(v.name+"->", v.to, t)...)
			if t.kind == pointer {
				for _, m := range g.member(v.name+"->", v.to, t.to) {
					have = append(have, "&"+m)
				}
			}
		} else if v.kind == pointer && v.to.name == t.name {
			have = append(have, "*"+v.name)
		} else if t.kind == pointer && v.ctype.name == t.to.name {
			have = append(have, "&"+v.name)
		}
	}
	if len(have) > 0 && g.chance(75) {
		return pick(g, have)
	}
	switch t.kind {
	case pointer:
		if g.chance(60) {
			return fmt.Sprintf("&a%s[work & 3]", g.global(t.to))
		}
		return "&" + g.global(t.to)
	case callback:
		return pick(g, []string{"twice", "next", g.global(t)})
	case structure:
		if depth == 0 || g.chance(30) {
			return g.global(t)
		}
		var all []string
		for _, m := range t.members {
			all = append(all, g.value(m.ctype, depth-1))
		}
		return fmt.Sprintf("(%s){ %s }", t.name, strings.Join(all, ", "))
	}
	if depth == 0 || g.chance(10) {
		if g.chance(50) {
			return g.global(t)
		}
		return g.literal(t)
	}
	switch a := g.number(depth - 1); g.IntN(5) {
	case 0:
		return fmt.Sprintf("(%s)(%s)", t.name, a)
	case 1:
		return fmt.Sprintf("(%s)(work + %d)", t.name, g.IntN(100))
	case 2:
		return fmt.Sprintf("(%s)(%s < %s)", t.name, a, g.number(depth-1))
	default:
		return fmt.Sprintf("(%s)(%s %s %s)", t.name, a, pick(g, []string{"+", "-", "*"}),
			g.number(depth-1))
	}
}

// number is an expression of any arithmetic type, or a conversion of one.
func (g *author) number(depth int) string {
	t := pick(g, g.scalars)
	return t.whole(g.value(t, depth))
}

// whole turns an expression of type t into one that can be converted to any type of integers: in C,
// a floating-point number must be small for that.
func (t *ctype) whole(expression string) string {
	if t.kind == floating {
		return "whole(" + expression + ")"
	}
	if t.kind == integer {
		return expression
	}
	return "(long)" + expression
}

// member lists the members of type t.
func (g *author) member(prefix string, in, t *ctype) (all []string) {
	for _, m := range in.members {
		if m.ctype.name == t.name {
			all = append(all, prefix+m.name)
		}
	}
	return all
}

// use writes a statement that uses a variable.
func (g *author) use(v variable) {
	switch {
	case g.chance(12):
		g.line("touch(&%s);", v.name)
	case g.chance(15) && (v.kind == integer || v.kind == floating):
		g.line("%s = %s;", v.name, g.value(v.ctype, 1))
	case g.chance(15) && v.kind == pointer: // it must not point to a variable of a block that ends
		g.line("%s = &a%s[work & 3];", v.name, g.global(v.to))
	case v.kind == structure:
		name, t := v.name, v.ctype
		for t.kind == structure {
			m := pick(g, t.members)
			name, t = name+"."+m.name, m.ctype
		}
		g.line("sum += %s;", t.whole(name))
	case v.kind == callback:
		g.line("sum += %s(%s);", v.name, g.value(&ctype{kind: integer, name: "long"}, 1))
	case v.kind == pointer && v.to.kind != structure && v.to.kind != callback && g.chance(60):
		if g.chance(50) {
			g.line("*%s = %s;", v.name, g.value(v.to, 1))
		} else {
			g.line("sum += %s;", v.to.whole("*"+v.name))
		}
	case v.kind == integer && v.ctype.name != "wide" && g.chance(30):
		g.line("asm volatile(\"\" : \"+r\"(sum) : \"r\"((long)%s));", v.name)
	default:
		g.line("sum += %s;", v.whole(v.name))
	}
}

// statements writes some statements.
func (g *author) statements(n int) {
	for range n {
		g.size++
		g.cost += g.factor
		switch k := g.IntN(100); {
		case k < 45 && len(g.scope) > 0:
			g.use(pick(g, g.scope))
		case k < 55:
			t := pick(g, g.all)
			g.fresh++
			v := variable{fmt.Sprintf("v%d", g.fresh), t}
			g.line("%s %s = %s;", t.name, v.name, g.value(t, 2))
			g.scope = append(g.scope, v)
		case k < 62 && g.depth < 3:
			g.block(fmt.Sprintf("if (%s & 1)", g.value(&ctype{kind: integer, name: "int"}, 2)), 1)
		case k < 67 && g.depth < 3:
			g.fresh++
			i := fmt.Sprintf("i%d", g.fresh)
			g.block(fmt.Sprintf("for (int %s = 0; %[1]s < 2 + (int)(sum & 1); %[1]s++)", i), 3)
		case k < 72:
			g.line("work = (long)%s;", g.number(1))
		default:
			g.call()
		}
	}
}

func (g *author) block(head string, factor int) {
	scope := len(g.scope)
	g.line("%s {", head)
	g.depth++
	g.factor *= factor
	g.statements(1 + g.IntN(3))
	g.factor /= factor
	g.depth--
	g.line("}")
	g.scope = g.scope[:scope]
}

func (g *author) call() {
	const maxCost, maxSize = 10000, 400
	var all []called
	for _, f := range g.functions {
		if g.cost+f.cost*g.factor < maxCost && g.size+f.size < maxSize {
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		return
	}
	f := pick(g, all)
	var args, names, stores []string
	whole := 0
	for i, p := range f.params {
		arg := f.fixed[i]
		if arg == "" {
			arg = g.value(p, 2)
		}
		args = append(args, arg)
		names = append(names, fmt.Sprintf("a%d", i))
		stores = append(stores, fmt.Sprintf("*(volatile %s *)passed.values[%d] = a%[2]d; ", p.name, i))
		if size, align := p.layout(); align > 0 && size <= slot && !f.addressed[i] {
			whole |= 1 << i
		}
	}
	g.cost += f.cost * g.factor
	g.size += f.size
	if g.chance(30) {
		g.line("sum += %s(%s);", f.name, strings.Join(args, ", "))
		return
	}
	text := "{ passed.line = 0; "
	for i, p := range f.params {
		text += fmt.Sprintf("%s %s = %s; ", p.name, names[i], args[i])
	}
	g.line("%s%spassed.count++; passed.whole = %d; passed.line = __LINE__; sum += %s(%s); }", text,
		strings.Join(stores, ""), whole, f.name, strings.Join(names, ", "))
}

// slot is the size of the space for each value in the variable "passed", in bytes.
const slot = 1024

// layout returns the size and the alignment of a type. align is 0 if the type has padding, or if
// the size depends on the machine.
func (t *ctype) layout() (size, align int) {
	if t.kind != structure {
		size = map[string]int{"char": 1, "schar": 1, "uchar": 1, "truth": 1, "tiny": 1, "short": 2,
			"ushort": 2, "int": 4, "uint": 4, "color": 4, "float": 4, "wide": 0}[t.name]
		if t.name != "wide" && size == 0 {
			size = 8
		}
		return size, size
	}
	for _, m := range t.members {
		n, a := m.layout()
		if a == 0 || size%a != 0 {
			return size, 0
		}
		size, align = size+n, max(align, a)
	}
	if size%align != 0 {
		return size, 0
	}
	return size, align
}

// function writes a function.
func (g *author) function(prefix, name string, params []*ctype, statements int) {
	g.scope, g.fresh, g.cost, g.size, g.factor = nil, 0, 1, 1, 1
	var list []string
	for i, t := range params {
		v := variable{fmt.Sprintf("p%d", i), t}
		g.scope = append(g.scope, v)
		list = append(list, t.name+" "+v.name)
	}
	if len(list) == 0 {
		list = []string{"void"}
	}
	g.line("%s long %s(%s)\n{", prefix, name, strings.Join(list, ", "))
	g.depth++
	for _, p := range g.scope {
		if p.kind == integer && g.chance(12) { // often at the address at which the function begins
			g.line("%s = %s;", p.name, pick(g, []string{g.literal(p.ctype), p.name + " + 1"}))
		}
	}
	g.line("long sum = %s;", pick(g, []string{"0", "work", "work"}))
	g.statements(statements)
	g.line("return sum;")
	g.depth--
	g.line("}")
}

func (g *author) some(n int) (all []*ctype) {
	for range n {
		all = append(all, pick(g, g.all))
	}
	return all
}

// inlined writes a function that can be inlined.
func (g *author) inlined(n int) {
	prefix := pick(g, []string{"static inline", "static",
		"static inline __attribute__((always_inline))",
		"static inline __attribute__((always_inline))"})
	f := called{name: fmt.Sprintf("f%d", n), params: g.some(g.IntN(5))}
	for _, p := range f.params {
		constant := ""
		if p.kind == integer && g.chance(15) {
			constant = fmt.Sprintf("(%s)%s", p.name, g.literal(p))
		}
		f.fixed = append(f.fixed, constant)
	}
	start := g.text.Len()
	g.function(prefix, f.name, f.params, 2+g.IntN(6))
	for i := range f.params {
		f.addressed = append(f.addressed,
			strings.Contains(g.text.String()[start:], fmt.Sprintf("&p%d", i)))
	}
	f.cost, f.size = g.cost, g.size
	g.functions = append(g.functions, f)
}

// hosts writes functions that aren't inlined, and main.
func (g *author) hosts() {
	var calls []string
	for n := range 6 {
		name, params := fmt.Sprintf("host%d", n), g.some(g.IntN(9))
		g.function("__attribute__((noinline))", name, params, 8+g.IntN(10))
		g.scope = []variable{{"n", &ctype{kind: integer, name: "int"}}}
		var args []string
		for _, p := range params {
			args = append(args, g.value(p, 2))
		}
		calls = append(calls, fmt.Sprintf("%s(%s);", name, strings.Join(args, ", ")))
	}
	g.line("int main(void)\n{")
	g.line("\tfor (int i = 0; i < 4; i++) {")
	g.line("\t\tint n = i + work;")
	for _, c := range calls {
		g.line("\t\twork += i + %s", c)
	}
	g.line("\t}\n\treturn 0;\n}")
}
