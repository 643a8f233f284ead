package conflict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	cilium "github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// randomBlob makes BTF with few names. The types that have these names refer to each other, mostly
// in the same way; some are defined several times, and some are only declared.
func randomBlob(r *rand.Rand) *btf.Blob {
	b := btf.NewBuilder(nil, nil, nil)
	const tags = 5
	number := b.Int("int", 4, btf.IntSigned, 0)
	first := number + 1 + 2*tags // after a pointer and an array for each tag
	for tag := range uint32(tags) {
		b.Ref(btf.KindPtr, "", first+tag)
		b.Array(first+tag, number, 2)
	}
	for i := range tags + r.IntN(2) {
		tag := i % tags
		name := fmt.Sprintf("t%d", tag)
		next := number + 1 + 2*uint32((tag+1+r.IntN(8)/7)%tags) + uint32(tag%2)
		switch r.IntN(5) {
		case 0:
			b.Fwd(name, false)
		case 1:
			b.Composite(btf.KindStruct, name, 16, false, btf.Member{NameOff: b.Name("other"), Type: number})
		default:
			if tag == 3 {
				b.Ref(btf.KindTypedef, name, next)
				continue
			}
			b.Composite(btf.KindStruct, name, 16, false, btf.Member{NameOff: b.Name("m"), Type: next},
				btf.Member{NameOff: b.Name("n"), Type: number, Offset: 64})
		}
	}
	return b.Finish()
}

// counts returns, for each name with several definitions, how many an independent reader finds.
func counts(t *testing.T, data []byte) map[Name]int {
	t.Helper()
	spec := must.Get(cilium.LoadSpecFromReader(bytes.NewReader(data)))(t)
	n := map[Name]int{}
	for typ, err := range spec.All() {
		must.OK(t, err)
		kind := ""
		switch typ := typ.(type) {
		case *cilium.Struct:
			kind = "struct"
		case *cilium.Union:
			kind = "union"
		case *cilium.Enum:
			if len(typ.Values) > 0 {
				kind = "enum"
			}
		case *cilium.Typedef:
			kind = "typedef"
		case *cilium.Int:
			kind = "int"
		case *cilium.Float:
			kind = "float"
		}
		if kind != "" && typ.TypeName() != "" {
			n[Name{kind, typ.TypeName()}]++
		}
	}
	maps.DeleteFunc(n, func(_ Name, n int) bool { return n < 2 })
	return n
}

// spelled writes out a type; for the named types that it uses, it writes only their names. So two
// definitions of a name have different texts if the definitions themselves differ, but not if only
// the named types that they use differ.
func spelled(b *btf.Blob, id uint32, top bool) string {
	if id == 0 {
		return "void"
	}
	t, own := b.ByID(id)
	name := b.TypeName(t)
	if name != "" && !top {
		return kindName(t) + " " + name
	}
	s := fmt.Sprint(t.Kind, " ", name)
	switch t.Kind {
	case btf.KindPtr, btf.KindTypedef:
		s += "(" + spelled(b, t.SizeOrType, false) + ")"
	case btf.KindArray:
		s += "[" + spelled(b, own.ArrayOf(t).Elem, false) + "]"
	case btf.KindStruct:
		for _, m := range own.MembersOf(t) {
			n, _ := b.Name(m.NameOff)
			s += fmt.Sprintf(" %s@%d: %s", n, m.Offset, spelled(b, m.Type, false))
		}
	}
	return s
}

func TestRandom(t *testing.T) {
	conflicts, indirect := 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 7))
		p := program{}
		own := map[string]*btf.Blob{}
		var names []string
		for i := range 2 + r.IntN(5) {
			name := fmt.Sprintf("i%d", i)
			blob := randomBlob(r)
			o, err := object.FromBTF(object.Target{}, blob)
			if err != nil {
				continue // a type contains itself without a tag in between
			}
			p[name], own[name] = o, blob
			names = append(names, name)
		}
		if len(names) == 0 {
			continue
		}
		report := p.find(t, nil, names...)
		var all []*object.Object
		for _, n := range names {
			all = append(all, p[n])
		}
		linked := must.Get(link.Link(all, link.Options{}))(t)
		b := must.Get(btf.Parse(linked.BTF, nil))(t)
		got := map[Name]int{}
		spell := map[Name]map[string]bool{}
		for id := uint32(1); id < b.EndID(); id++ {
			typ, _ := b.ByID(id)
			n := Name{kindName(typ), b.TypeName(typ)}
			if spell[n] == nil {
				spell[n] = map[string]bool{}
			}
			spell[n][spelled(b, id, true)] = true
		}
		for i := range report.Conflicts {
			c := &report.Conflicts[i]
			got[c.Name] = len(c.Definitions)
			conflicts++
			indirect += min(len(c.Because), 1)
			if isOwn := len(c.Because) == 0; isOwn != (len(spell[c.Name]) > 1) {
				t.Errorf("seed %d: %v because of %v, but it is spelled %v", seed, c.Name, c.Because,
					slices.Collect(maps.Keys(spell[c.Name])))
			}
			for _, why := range c.Because {
				if len(spell[why]) < 2 {
					t.Errorf("seed %d: %v because of %v, whose definitions don't differ by themselves", seed,
						c.Name, why)
				}
			}
			checkHolders(t, c, own)
		}
		if want := counts(t, linked.BTF); !maps.Equal(got, want) {
			t.Errorf("seed %d: %v, but the result has %v", seed, got, want)
		}
		want, _ := json.Marshal(report)
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		if got, _ := json.Marshal(p.find(t, nil, names...)); !bytes.Equal(got, want) {
			t.Errorf("seed %d: the order matters:\n%s\n%s", seed, got, want)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	if conflicts < 200 || indirect < 50 {
		t.Errorf("only %d conflicts, %d of them because of others", conflicts, indirect)
	}
}

// checkHolders checks that the inputs listed as holders of a name are exactly those that define it.
func checkHolders(t *testing.T, c *Conflict, inputs map[string]*btf.Blob) {
	t.Helper()
	holds := map[string]int{}
	for _, d := range c.Definitions {
		for _, f := range d.Files {
			holds[f.Path]++
		}
		if len(d.Files) == 0 {
			t.Errorf("%v: nobody holds %s", c.Name, d.ID)
		}
	}
	for path, b := range inputs {
		defines := 0
		for i := range b.Types {
			if typ := &b.Types[i]; b.TypeName(typ) == c.Name.Name && kindName(typ) == c.Kind {
				defines++
			}
		}
		if h := holds[path]; h > defines || (h == 0) != (defines == 0) {
			t.Errorf("%v: %s defines it %d times and holds %d definitions", c.Name, path, defines, h)
		}
	}
}

// TestKernel compares the conflicts in the running kernel's BTF with the names for which an
// independent reader finds several definitions.
func TestKernel(t *testing.T) {
	const path = "/sys/kernel/btf/vmlinux"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Skipf("SKIPPED: no BTF of a running kernel: %v", err)
	}
	o, err := object.ReadFile(path, nil)
	must.OK(t, err)
	r := program{path: o}.find(t, nil, path)
	got := map[Name]int{}
	for i := range r.Conflicts {
		c := &r.Conflicts[i]
		got[c.Name] = len(c.Definitions)
		for _, d := range c.Definitions[1:] {
			if d.Difference.What == "" || strings.Contains(d.Difference.What, "too deep") {
				t.Errorf("%v: no difference is reported", c.Name)
			}
		}
	}
	want := counts(t, data)
	t.Logf("%d names with several definitions, %d in the report", len(want), len(got))
	if !maps.Equal(got, want) {
		t.Errorf("%v, but the kernel has %v", got, want)
	}
}
