package reach

import "github.com/rules-btf/rules_btf/internal/programs/bpfobj"

// condition returns the condition of a node as an irredundant sum of products.
func (w *walk) condition(r ref) Condition {
	c, _ := w.cover(r, r)
	if len(c) > maxCubes {
		return always()
	}
	return append(Condition{}, c...)
}

// cover returns a sum of products, and the node of this sum. The sum holds wherever low holds, and
// only where high holds. With the algorithm of Minato and Morreale, cover first finds the products
// that need a literal of the first guard, for each of the guard's two outcomes, and then the
// products without this guard. In a product, the literals are in the order of guards.
func (w *walk) cover(low, high ref) (Condition, ref) {
	d := w.diagram
	switch {
	case low == none || d.full:
		return nil, none
	case high == anything:
		return always(), anything
	}
	guard := d.first(low, high)
	low0, low1 := d.split(low, guard)
	high0, high1 := d.split(high, guard)
	with1, done1 := w.cover(d.apply(without, low1, high0), high1)
	with0, done0 := w.cover(d.apply(without, low0, high1), high0)
	rest := d.apply(join, d.apply(without, low0, done0), d.apply(without, low1, done1))
	others, done := w.cover(rest, d.apply(within, high0, high1))
	var c Condition
	for _, cube := range with1 {
		c = append(c, append([]Literal{w.literal(guard, true)}, cube...))
	}
	for _, cube := range with0 {
		c = append(c, append([]Literal{w.literal(guard, false)}, cube...))
	}
	if c = append(c, others...); len(c) > maxCubes {
		return c[:maxCubes+1], anything
	}
	return c, d.branch(guard, d.apply(join, done0, done), d.apply(join, done1, done))
}

// literal returns the literal for an outcome of a guard or choice.
func (w *walk) literal(guard int32, found bool) Literal {
	if guard < w.diagram.settings.first {
		return Literal{Fact(w.guards[guard]), found}
	}
	t, _ := w.diagram.settings.test(guard)
	if n := len(t); n == 3 && t[0].op == isFact && t[1] == (token{op: isConstant}) &&
		t[2] == (token{op: jumpEq | bpfobj.ClassJMP}) {
		return Literal{t[:1], !found}
	}
	return Literal{t, found}
}
