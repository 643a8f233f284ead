package link

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/model/object"
)

// checkLast checks that a link of the inputs with Options.Last has the same result, want. The
// inputs don't change.
func checkLast(t testing.TB, want *Result, opt Options, inputs ...*object.Object) {
	t.Helper()
	var copies []*object.Object
	for _, o := range inputs {
		c := *o
		c.Graph, c.Units = o.Graph.Clone(), slices.Clone(o.Units)
		copies = append(copies, &c)
	}
	opt.Last = true
	got, err := Link(copies, opt)
	if err != nil {
		t.Fatalf("with Last: %v", err)
	}
	if !bytes.Equal(got.BTF, want.BTF) {
		t.Error("with Last, the BTF differs")
	}
	g, w := *got, *want
	g.BTF, w.BTF = nil, nil
	if !reflect.DeepEqual(g, w) {
		t.Errorf("with Last, the result is %+v, want %+v", g, w)
	}
	if len(copies) > 1 {
		return // the link has merged them
	}
	for i := range copies[0].Units {
		if len(copies[0].Units[i].Items) > 0 {
			t.Errorf("with Last, unit %d still has items after the link", i)
		}
	}
}
