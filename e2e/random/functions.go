package random

import (
	"fmt"
	"strings"
)

// callee is a function that can be called with zeros as arguments.
type callee struct {
	name      string
	arguments int
}

// entryFunction is the program's entry. The linker may drop code that can be
// reached neither from this function nor from a root.
const entryFunction = "void start(void) { }\n"

// root decides whether the linker must keep a global symbol.
func (g *generator) root(name string) {
	if g.chance(50) {
		g.program.Roots = append(g.program.Roots, name)
	}
}

func (g *generator) prototype() *node {
	f := g.author.function()
	t := g.function(f, nil)
	g.fresh++
	name := fmt.Sprintf("h%d_%d", g.unit, g.fresh)
	prefix := "extern "
	if g.cxx && g.depth == 0 {
		prefix = `extern "C" `
	}
	n := sequence(prefix, declare(t, name), ";\n")
	if g.depth > 0 && !g.cxx {
		n.kids = append(n.kids, optional("sink((void *)"+name+");\n"))
	}
	return n
}

func (g *generator) definedFunction() *node {
	prefix, name := g.newFunction()
	f := g.author.function()
	if usual := g.words.functions[name]; usual != nil && g.chance(70) {
		f = usual[g.IntN(len(usual))]
	}
	static := strings.HasPrefix(prefix, "static")
	if g.chance(60) {
		prefix += "__attribute__((noinline)) "
	}
	names := make([]string, len(f.params))
	for i := range names {
		if names[i] = fmt.Sprintf("a%d", i); g.chance(3) && (g.cxx || g.modern) {
			names[i] = ""
		}
	}
	t := g.function(f, names)
	defer g.leave()
	g.depth++
	defer func() { g.depth-- }()
	statements := sequence(g.statements())
	statements.inside = true
	n := sequence(g.withTags(g.declTags()), " ", prefix, declare(t, name), " {\n", statements)
	for _, name := range names {
		if name != "" && g.chance(60) {
			n.kids = append(n.kids, optional("sink((void *)&"+name+");\n"))
		}
	}
	n.kids = append(n.kids, text("}\n"))
	n = sequence(n)
	if static {
		n.kids = append(n.kids,
			optional("__attribute__((used)) static void *use_"+name+"[] = { (void *)"+name+" };\n"))
	}
	n.kids = append(n.kids, g.otherNames(name, static))
	if t.scalar {
		g.callees = append(g.callees, callee{name, len(f.params)})
	}
	return n
}

// newFunction chooses the name and the linkage of a function to define. Other units may have
// functions with the same name, but with different prototypes.
func (g *generator) newFunction() (prefix, name string) {
	if name = staticFunctions[g.IntN(len(staticFunctions))]; g.chance(35) && g.take(name) {
		return "static ", name
	}
	if g.cxx {
		prefix = `extern "C" `
	}
	if name = sharedFunctions[g.IntN(len(sharedFunctions))]; g.chance(20) && g.take(name) {
		if g.strong[name] || g.chance(60) {
			prefix += "__attribute__((weak)) "
		} else {
			g.strong[name] = true
		}
	} else {
		g.fresh++
		name = fmt.Sprintf("f%d_%d", g.unit, g.fresh)
		if g.chance(5) {
			name += "$" // BTF has no such names, so the function is skipped
		}
	}
	g.root(name)
	return prefix, name
}

// otherNames may write an alias for a function. Static C++ functions get no alias, because their
// symbols have mangled names.
func (g *generator) otherNames(function string, static bool) *node {
	if !g.chance(20) || g.cxx && static {
		return text("")
	}
	g.fresh++
	name := fmt.Sprintf("alias%d_%d", g.unit, g.fresh)
	g.root(name)
	linkage := []string{"extern ", "extern ", "extern __attribute__((weak)) "}[g.IntN(3)]
	if g.cxx {
		linkage = `extern "C" `
	}
	return optional(fmt.Sprintf("%s__typeof__(%s) %s __attribute__((alias(%[2]q)));\n", linkage,
		function, name))
}

// clonedParameters are parameters that make gcc write clones of a function: some of them are
// unused, and for some of them callers pass constants.
var clonedParameters = []struct {
	declaration, use string
	arguments        []string
}{
	{"int %s", " + %s", []string{"a", "a + 1", "7"}},
	{"long %s", " + %s", []string{"3"}},
	{"int %s", "", []string{"a", "5"}},
	{"int *%s", " + *%s", []string{"&a"}},
	{"const long *%s", " + *%s", []string{"(const long *)&work"}},
}

// cloned writes a function that gcc specializes or splits, and functions that call it.
func (g *generator) cloned() *node {
	prefix, name := g.newFunction()
	split := g.chance(30) // whether gcc may split off the part that runs if work isn't 0
	if !split {
		prefix += "__attribute__((noinline)) "
	}
	var params, uses []string
	var chosen []int
	count := 1 + g.IntN(4)
	if g.chance(30) {
		count += 6 // more than there are registers
	}
	for i := range count {
		k := g.IntN(len(clonedParameters))
		chosen = append(chosen, k)
		param := fmt.Sprintf("p%d", i)
		params = append(params, fmt.Sprintf(clonedParameters[k].declaration, param))
		uses = append(uses, strings.ReplaceAll(clonedParameters[k].use, "%s", param))
	}
	body := "return work = 1" + strings.Join(uses, "") + ";\n"
	if split {
		body = "if (!work)\nreturn 0;\nfor (int i = 0; i < work; i++)\nsink((void *)1, i" +
			strings.Join(uses, ", 0") + ");\n" + body
	}
	n := sequence(g.withTags(g.declTags()), fmt.Sprintf(" %sint %s(%s) {\n%s}\n", prefix, name,
		strings.Join(params, ", "), body), g.otherNames(name, strings.HasPrefix(prefix, "static")))
	linkage := ""
	if g.cxx {
		linkage = `extern "C" `
	}
	for range 1 + g.IntN(3) {
		var arguments []string
		for _, k := range chosen {
			from := clonedParameters[k].arguments
			arguments = append(arguments, from[g.IntN(len(from))])
		}
		g.fresh++
		caller := fmt.Sprintf("call%d_%d", g.unit, g.fresh)
		g.root(caller)
		n.kids = append(n.kids, optional(fmt.Sprintf("%sint %s(int a) {\nreturn %s(%s);\n}\n", linkage,
			caller, name, strings.Join(arguments, ", "))))
	}
	g.callees = append(g.callees, callee{name, len(chosen)})
	return n
}

func (g *generator) call() *node {
	if len(g.callees) == 0 {
		return text("")
	}
	c := g.callees[g.IntN(len(g.callees))]
	arguments := ""
	for i := range c.arguments {
		if i > 0 {
			arguments += ", "
		}
		arguments += "0"
	}
	return text(c.name + "(" + arguments + ");\n")
}
