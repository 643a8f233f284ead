package random

import "fmt"

// declaredOnly writes a class that compilers only declare in the DWARF, and uses of the class by
// value: clang++ would define the class where its constructor is, g++ where its virtual function is
// (and both with -O0 and -O2). Some units define the constructor and the function. None does if the
// linker may drop units, because a definition in a dropped unit doesn't count.
func (g *generator) declaredOnly() *node {
	const class = "struct declared { int v; declared(int); virtual int key(); };\n"
	g.fresh++
	holder := fmt.Sprintf("holder%d_%d", g.unit, g.fresh)
	n := sequence(class, "struct ", holder, " {\n", optional("int first;\n"),
		optional("declared held;\n"), optional("const declared several[2];\n"),
		optional("struct { declared inner; } anonymous;\n"), optional("declared *pointer;\n"),
		"long last;\n};\n",
		fmt.Sprintf("static __attribute__((used)) %s *use_%[1]s;\n", holder))
	use := func(percent int, format string) {
		if g.chance(percent) {
			n.kids = append(n.kids, optional(fmt.Sprintf(format, holder)))
		}
	}
	use(30, "extern \"C\" int takes_%s(declared x) { return x.v; }\n")
	use(30, "extern \"C\" long reads_%[1]s(%[1]s *x) { return x->last; }\n")
	use(30, "static __attribute__((used)) declared variable_%s(1);\n")
	use(30, "static __attribute__((used)) int (*code_%s)(declared, declared **);\n")
	if !g.mold {
		use(20, "static "+perCPU+"declared own_%s(2);\n")
	}
	if !g.collect && !g.strong["declared"] && g.chance(30) {
		g.strong["declared"] = true
		n.kids = append(n.kids, optional("declared::declared(int x) : v(x) { }\n"+
			"int declared::key() { return v; }\n"))
	}
	return n
}
