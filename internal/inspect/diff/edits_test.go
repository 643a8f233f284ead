package diff

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	cilium "github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// madeMember is a member of a struct that the test makes. Its name changes; its id does not.
type madeMember struct {
	id     int
	name   string
	typ    string // in C; "unsigned int : N" for a bitfield
	nested bool   // alone in an anonymous union, with another member of type char
}

func (m madeMember) declare() string {
	typ, bits, _ := strings.Cut(m.typ, " :")
	s := typ + " " + m.name
	if bits != "" {
		s += " :" + bits
	}
	if m.nested {
		return fmt.Sprintf("union { %s; char u%d; };", s, m.id)
	}
	return s + ";"
}

var madeTypes = []string{"int", "long int", "char", "short int", "unsigned char", "void *",
	"struct pad *", "struct pad", "unsigned int : 3", "unsigned int : 7"}

// edit makes one random change to the members of a struct.
func edit(rnd *rand.Rand, members []madeMember, next *int) []madeMember {
	at := rnd.IntN(len(members) + 1)
	if rnd.IntN(3) == 0 || len(members) == 0 {
		m := madeMember{*next, fmt.Sprintf("m%d", *next), madeTypes[rnd.IntN(len(madeTypes))],
			rnd.IntN(4) == 0}
		*next++
		return slices.Insert(members, at, m)
	}
	at = min(at, len(members)-1)
	m := &members[at]
	switch rnd.IntN(5) {
	case 0:
		return slices.Delete(members, at, at+1)
	case 1:
		m.name = fmt.Sprintf("n%d", *next)
		*next++
	case 2:
		m.typ = madeTypes[rnd.IntN(len(madeTypes))]
	case 3:
		m.nested = !m.nested
	case 4:
		other := rnd.IntN(len(members))
		members[at], members[other] = members[other], members[at]
	}
	return members
}

// placedMember is a member as an independent reader sees it.
type placedMember struct {
	typ    string
	offset uint32
	nest   string
}

// placesOf finds the members of a struct, with those of anonymous unions.
func placesOf(members []cilium.Member, start cilium.Bits, nest string, typ map[string]string,
	out map[string]placedMember) {
	for _, m := range members {
		if u, ok := m.Type.(*cilium.Union); ok && m.Name == "" {
			placesOf(u.Members, start+m.Offset, "union", typ, out)
			continue
		}
		out[m.Name] = placedMember{typ[m.Name], uint32(start + m.Offset), nest}
	}
}

// wanted lists the changes between two versions of a struct, each as its kind and a member's name.
func wanted(a, b []madeMember, pa, pb map[string]placedMember) []string {
	var out []string
	// Two members are the same one if they have the same name or else, if there is only one such pair,
	// the same type and place.
	same := map[string]string{}
	renames := map[placedMember][2][]string{}
	for name, p := range pa {
		if _, ok := pb[name]; ok {
			same[name] = name
		} else {
			x := renames[p]
			renames[p] = [2][]string{append(x[0], name), x[1]}
		}
	}
	for name, p := range pb {
		if _, ok := pa[name]; !ok {
			x := renames[p]
			renames[p] = [2][]string{x[0], append(x[1], name)}
		}
	}
	for _, x := range renames {
		if len(x[0]) == 1 && len(x[1]) == 1 {
			same[x[0][0]] = x[1][0]
			out = append(out, "renamed "+x[0][0])
			continue
		}
		for _, name := range x[0] {
			out = append(out, "removed "+name)
		}
		for _, name := range x[1] {
			out = append(out, "added "+name)
		}
	}
	for from, to := range same {
		x, y := pa[from], pb[to]
		tx, bx, _ := strings.Cut(x.typ, " :")
		ty, by, _ := strings.Cut(y.typ, " :")
		if tx != ty {
			out = append(out, "retyped "+from)
		}
		if bx != by {
			out = append(out, "resized "+from)
		}
		if x.offset != y.offset || x.nest != y.nest {
			out = append(out, "moved "+from)
		}
	}
	return out
}

// TestRandomEdits edits the structs of a C header at random. The changes that Compare lists must be
// the edits, and that members have moved because of them. Where the members are, an independent
// reader says.
func TestRandomEdits(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 11))
	const structs = 200
	var made [2][structs][]madeMember
	next := 0
	for i := range structs {
		for range 3 + rnd.IntN(8) {
			made[0][i] = append(made[0][i], madeMember{next, fmt.Sprintf("m%d", next),
				madeTypes[rnd.IntN(len(madeTypes))], rnd.IntN(6) == 0})
			next++
		}
		made[1][i] = slices.Clone(made[0][i])
		for range rnd.IntN(4) {
			made[1][i] = edit(rnd, made[1][i], &next)
		}
	}
	var blobs [2]*btf.Blob
	var places [2][structs]map[string]placedMember
	var sizes [2][structs]uint32
	for side := range 2 {
		src := "struct pad { char c[12]; };\n"
		for i, members := range made[side] {
			src += fmt.Sprintf("struct s%d {\n", i)
			for _, m := range members {
				src += "\t" + m.declare() + "\n"
			}
			src += fmt.Sprintf("} v%d;\n", i)
		}
		blobs[side] = compile(t, src)
		data := must.Get(btf.Encode(blobs[side], btf.EncodeOptions{}))(t)
		spec := must.Get(cilium.LoadSpecFromReader(bytes.NewReader(data)))(t)
		for i, members := range made[side] {
			types := map[string]string{}
			for _, m := range members {
				types[m.name] = m.typ
				types[fmt.Sprintf("u%d", m.id)] = "char"
			}
			var s *cilium.Struct
			must.OK(t, spec.TypeByName(fmt.Sprintf("s%d", i), &s))
			places[side][i], sizes[side][i] = map[string]placedMember{}, s.Size
			placesOf(s.Members, 0, "", types, places[side][i])
		}
	}
	list, _ := Compare(Side{blobs[0]}, Side{blobs[1]}, Options{Kinds: []btf.Kind{btf.KindStruct}})
	got := map[string][]string{}
	for _, d := range list {
		for _, c := range d.Changes {
			if c.Kind == Size {
				continue
			}
			got[d.Type] = append(got[d.Type],
				string(c.Kind)+" "+strings.TrimPrefix(c.Where, "member "))
		}
		if d.Type == "struct pad" {
			t.Error("struct pad differs")
		}
	}
	changed := 0
	for i := range structs {
		name := fmt.Sprintf("struct s%d", i)
		want := wanted(made[0][i], made[1][i], places[0][i], places[1][i])
		slices.Sort(want)
		slices.Sort(got[name])
		changed += min(1, len(want))
		if !slices.Equal(want, got[name]) {
			t.Errorf("%s:\n%v\n%v\ngot  %v\nwant %v", name, made[0][i], made[1][i], got[name], want)
		}
		for _, d := range list {
			if d.Type != name {
				continue
			}
			size := slices.ContainsFunc(d.Changes, func(c Change) bool { return c.Kind == Size })
			if size != (sizes[0][i] != sizes[1][i]) {
				t.Errorf("%s: sizes %d and %d, but %v", name, sizes[0][i], sizes[1][i], d)
			}
		}
	}
	if changed < structs/2 {
		t.Errorf("only %d structs have changed", changed)
	}
}
