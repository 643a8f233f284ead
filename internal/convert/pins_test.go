package convert

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// inBlocks returns a source with a function of the given name. Each block of the function defines
// the tags t0, t1 and t2, where t0 points to t1, and t1 to t2. The names of the members differ
// between blocks, so two definitions of a tag differ even if their members have the same type. The
// parameter blocks lists, for each block, the type of t2's member.
func inBlocks(name string, blocks ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "int %s(void) { int n = 0;\n", name)
	for i, typ := range blocks {
		fmt.Fprintf(&b, `	{
		struct t2 { %[2]s m%[1]d; }; struct t1 { struct t2 *m%[1]d; };
		struct t0 { struct t1 *m%[1]d; };
		volatile struct t0 v = { 0 }; n += v.m%[1]d != 0;
	}
`, i, typ)
	}
	b.WriteString("\treturn n;\n}\n")
	return b.String()
}

// TestPinsAreGlobal converts two units that define every tag twice. Within a unit, the two
// definitions of a tag have members with different names. The two units differ only in the type of
// one member of t2.
func TestPinsAreGlobal(t *testing.T) {
	dir := t.TempDir()
	var objs []string
	for name, text := range map[string]string{
		"a": inBlocks("a", "int", "char"),
		"b": inBlocks("b", "long", "char"),
	} {
		must.OK(t, os.WriteFile(filepath.Join(dir, name+".c"), []byte(text), 0o666))
		programtest.Run(t, dir, "gcc", "-std=gnu17", "-g", "-O0", "-c", name+".c")
		objs = append(objs, filepath.Join(dir, name+".o"))
	}
	linked := filepath.Join(dir, "linked")
	linkObjects(t, linked, objs...)
	set := features.Default()
	want := linkTo(t, linked, set, convertFile(t, linked, Options{Features: set, Jobs: 1})).BTF
	for tag := range 3 {
		n := 0
		for _, line := range dump(t, want, false) {
			if strings.HasPrefix(line, fmt.Sprintf("struct t%d {", tag)) {
				n++
			}
		}
		if n != 3 {
			t.Errorf("%d definitions of struct t%d, want 3", n, tag)
		}
	}

	same := func(how string, objs ...*object.Object) {
		t.Helper()
		if got := linkTo(t, linked, set, objs...).BTF; !bytes.Equal(got, want) {
			t.Fatalf("%s: different BTF: %s", how, diff(dump(t, got, false), dump(t, want, false)))
		}
	}
	for range 40 {
		same("two threads", convertFile(t, linked, Options{Features: set, Jobs: 2}))
	}
	x := convertFile(t, objs[0], Options{Features: set, Jobs: 1})
	y := convertFile(t, objs[1], Options{Features: set, Jobs: 1})
	same("objects", x, y)
	same("objects in the other order", y, x)
	var merged [][]byte
	for _, order := range [][]*object.Object{{x, y}, {y, x}} {
		m := must.Get(object.Merge(order...))(t)
		data := must.Get(object.Write(m, 1))(t)
		if merged = append(merged, data); !bytes.Equal(data, merged[0]) {
			t.Error("the order of merging changes the object")
		}
		same("merged", readObject(t, data))
	}

	// A definition that is in both units, and to which others refer, has the same pin in both.
	pins := func(o *object.Object) map[types.Hash]bool {
		set := map[types.Hash]bool{}
		for i := range o.Graph.Nodes {
			if n := &o.Graph.Nodes[i]; n.Kind == types.KindStub && n.Size == 1 && n.Ref != 0 {
				set[o.Graph.Pin(n)] = true
			}
		}
		return set
	}
	a, b := pins(x), pins(y)
	both := 0
	for pin := range a {
		if b[pin] {
			both++
		}
	}
	if len(a) != 4 || len(b) != 4 || both != 2 {
		t.Errorf("%d and %d pins, %d of them in both units; want 4, 4, 2", len(a), len(b), both)
	}
}
