package random

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

type generator struct {
	*author
	words      *vocabulary
	scope      *scope
	cxx        bool
	vla        bool // whether records may have members of variable length (only gcc, only C)
	noBodies   int  // no types can be defined here unless it is 0
	nested     int  // how many definitions are open
	prototypes int  // how many parameter lists are open
	unit       int
	fresh      int // a counter that makes names unique
	depth      int // how many blocks are open
	callees    []callee
	strong     map[string]bool // names that units share and for which a strong definition exists
	program    *Program
	collect    bool // whether the linker gets --gc-sections
	mold       bool // whether the linker is mold, which makes globals local; no per-CPU variables
}

// Generate writes the program that a seed and options determine.
func Generate(seed uint64, o Options) *Program {
	r := rand.New(rand.NewPCG(seed, 0))
	a := newAuthor(r, o)
	words := a.vocabulary()
	if o.TypeUnits() && r.IntN(2) == 0 { // type units are exact only if each tag has one definition
		for _, all := range [][]word{words.tags, words.aliases} {
			for i := range all {
				all[i].variants = all[i].variants[:1]
			}
		}
	}
	p := &Program{}
	g := &generator{author: a, words: words, strong: map[string]bool{}, program: p,
		collect: o.Collect, mold: o.Linker == "mold"}
	for i, path := range g.paths() {
		g.unit, g.vla = i, o.Compiler(i) == "gcc"
		if g.cxx = o.CXX && (i == 0 || g.chance(50)); g.cxx {
			path += "c"
		}
		p.Units = append(p.Units, &Unit{Path: path, root: g.file()})
	}
	return p
}

// paths returns the units' paths. Some paths may differ only in the directory, except in two cases:
// mold makes weak functions static, so functions in such units would have the same name and file
// name; and with --gc-sections, nothing shows which of two such units with only data was dropped.
func (g *generator) paths() []string {
	var all []string
	for _, base := range []string{"core", "main"} {
		for d := range 3 {
			all = append(all, fmt.Sprintf("d%d/%s.c", d+1, base))
		}
	}
	if g.mold || g.collect {
		return []string{all[0], all[3]}
	}
	n := 2 + min(g.IntN(4), g.IntN(4))
	if g.chance(50) {
		g.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	return all[:n]
}

func (g *generator) file() *node {
	g.enter()
	defer g.leave()
	g.callees = nil
	linkage := ""
	if g.cxx {
		linkage = `extern "C" `
	}
	n := sequence(linkage, "void sink(void *, ...);\n", "extern volatile int work;\n")
	if g.unit == 0 {
		n.kids = append(n.kids, text(linkage+entryFunction))
	}
	if g.cxx && g.chance(60) {
		n.kids = append(n.kids, optional(g.declaredOnly()))
	}
	for range 4 + g.IntN(7) {
		n.kids = append(n.kids, optional(g.declaration()))
	}
	n.kids = append(n.kids, optional(g.definedFunction()))
	return n
}

func (g *generator) declaration() *node {
	if g.modern && g.chance(5) {
		g.fresh++
		return text(fmt.Sprintf("static constexpr __attribute__((used)) int v%d_%d = 3;\n", g.unit,
			g.fresh))
	}
	switch n := g.IntN(100); {
	case n < 12:
		return g.forward()
	case n < 35:
		return g.taggedVariable(g.variable)
	case n < 47:
		return g.typedef()
	case n < 62:
		return g.variable(g.object(g.form(1)))
	case n < 68:
		return g.prototype()
	case n < 76:
		return g.cloned()
	}
	return g.definedFunction()
}

func (g *generator) forward() *node {
	w := g.words.tags[g.IntN(len(g.words.tags))]
	v := w.variants[0]
	if !g.cxx {
		v = w.variants[g.IntN(len(w.variants))]
	}
	if g.scope.tags[w.name] != nil ||
		v.kind == formEnum && (g.cxx || g.modern || g.visible(w.name) != nil) {
		return text("")
	}
	return text(g.declareTag(v.tagKeyword(), w.name).keyword + " " + w.name + ";\n")
}

// taggedVariable writes a definition of a tag, usually with a variable.
func (g *generator) taggedVariable(variable func(*ctype) *node) *node {
	n := g.IntN(len(g.words.tags))
	if !g.canDefine(n) {
		return variable(g.object(&form{kind: formTag, n: n}))
	}
	t := g.define(n)
	if t.kind != body {
		return text("")
	}
	if g.chance(25) {
		return sequence(t.body, ";\n")
	}
	return variable(t)
}

func (g *generator) typedef() *node {
	w := g.words.aliases[g.IntN(len(g.words.aliases))]
	if !g.take(w.name) {
		return text("")
	}
	if g.cxx && g.depth > 0 { // in C++, the name of an anonymous type contains the function's name
		g.noBodies++
		defer func() { g.noBodies-- }()
	}
	t := g.instance(w.variants[g.IntN(len(w.variants))])
	g.scope.aliases[w.name] = &alias{name: w.name, to: t}
	n := sequence("typedef ", declare(t, w.name), g.withTags(g.declTags()), ";\n")
	if g.depth > 0 && t.complete() {
		n = sequence(n, optional(g.local(&ctype{kind: aliased, alias: g.scope.aliases[w.name]})))
	}
	return n
}

const perCPU = `__attribute__((section(".data..percpu"), used)) `

// These are names of variables and functions that several units, and several functions in a unit,
// define.
var (
	staticVariables = []string{"state", "count"}
	staticFunctions = []string{"init", "get", "put"}
	sharedFunctions = []string{"shared0", "shared1", "shared2"} // weak functions and a strong one
)

// variable writes a variable with static storage duration.
func (g *generator) variable(t *ctype) *node {
	if t.isFunction() {
		t = &ctype{kind: pointer, to: t}
	}
	name := staticVariables[g.IntN(len(staticVariables))]
	prefix := "static "
	if !g.chance(40) || !g.take(name) {
		g.fresh++
		name = fmt.Sprintf("v%d_%d", g.unit, g.fresh)
		if g.depth == 0 && !g.cxx && g.chance(60) {
			prefix = ""
		}
	}
	if g.chance(30) && !g.mold {
		prefix += perCPU
	} else {
		prefix += "__attribute__((used)) "
	}
	if g.depth == 0 && !strings.HasPrefix(prefix, "static") {
		g.root(name)
	}
	n := sequence(prefix, declare(t, name), g.withTags(g.declTags()), ";\n")
	if g.cxx && g.depth == 0 { // only with decltype can other code name an anonymous type
		n.kids = append(n.kids, optional(fmt.Sprintf("typedef decltype(%s) *type_%[1]s;\n", name),
			fmt.Sprintf("static __attribute__((used)) type_%s *use_%[1]s;\n", name)))
	}
	return n
}

// local writes a local variable of a function, and a use of the variable.
func (g *generator) local(t *ctype) *node {
	g.fresh++
	name := fmt.Sprintf("x%d", g.fresh)
	return sequence(declare(t, name), ";\n", fmt.Sprintf("sink((void *)&%s);\n", name))
}

func (g *generator) statements() []*node {
	var all []*node
	for range 1 + g.IntN(5) {
		all = append(all, optional(g.statement()))
	}
	return all
}

func (g *generator) statement() *node {
	switch n := g.IntN(100); {
	case n < 20:
		return g.local(g.object(g.form(1)))
	case n < 45:
		return g.taggedVariable(g.local)
	case n < 53:
		return g.forward()
	case n < 61:
		return g.typedef()
	case n < 76 && g.depth < 4:
		return g.block()
	case n < 83:
		return g.variableLength()
	case n < 87:
		return g.variable(g.object(g.form(1)))
	case n < 91:
		return g.prototype()
	}
	return g.call()
}

func (g *generator) block() *node {
	g.enter()
	defer g.leave()
	g.depth++
	defer func() { g.depth-- }()
	return sequence("{\n", g.statements(), "}\n")
}

// variableLength writes an array of variable length, alone or as a member of a new record.
func (g *generator) variableLength() *node {
	g.fresh++
	length := fmt.Sprintf("n%d", g.fresh)
	n := sequence("volatile int " + length + " = 3;\n")
	tagNumber := g.IntN(len(g.words.tags))
	name := g.words.tags[tagNumber].name
	if !g.vla || g.cxx || g.scope.tags[name] != nil {
		t := g.object(&form{kind: formTag, n: tagNumber})
		if t.endsOpen() {
			t = &ctype{kind: pointer, to: t}
		}
		return sequence(n, g.local(&ctype{kind: array, text: length, to: t}))
	}
	keyword := []string{"struct", "union"}[g.IntN(2)]
	// Later code sees an incomplete tag, because C allows types of variable length in few places.
	t := g.declareTag(keyword, name)
	t.open, t.varying = true, true
	first := g.object(&form{kind: formTag, n: g.IntN(len(g.words.tags))})
	if first.endsOpen() {
		first = &ctype{kind: pointer, to: first}
	}
	n.kids = append(n.kids, sequence(keyword+" "+name+" {\n", optional(declare(first, "first"), ";\n"),
		"char varying["+length+"];\n} x"+length+";\nsink((void *)&x"+length+");\n"))
	return n
}
