package link

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// forward.go in package resolve has the rules for what a tag means in a unit that only declares it.

// sketch adds one unit for each line of text, which consists of these words:
//
//	s1 s2 s3      a definition of the tag s with 1, 2 or 3 members
//	r1 r2         the same for r
//	user          struct user { struct s *m0; struct r *m1; }
//	other         typedef struct s *other
//	holder        struct holder { other m0; }
//	y z           struct y { struct s *m0; }; struct z { struct s *m0; struct r *m1; }
//	top           struct top { struct y *m0; struct z *m1; }
//	both s1 s2    struct both { struct s *m0, *m1; }, whose members refer to both definitions, as
//	              is possible in BTF that is already linked
//	3x            there are three units like this
func sketch(b *builder, text string) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		b.Unit("", 1)
		i := b.Hold(b.Int("int"))
		other := func() types.ID {
			return b.Hold(b.Add(types.Node{Kind: types.KindTypedef, Name: b.Str("other"),
				Ref: b.Ptr(b.Stub("s"))}))
		}
		def := func(w string) types.ID {
			var members []types.ID
			for range w[1] - '0' {
				members = append(members, i)
			}
			return b.Struct(w[:1], members...)
		}
		for k, w := range words {
			switch {
			case w == "user":
				b.Hold(b.Struct("user", b.Ptr(b.Stub("s")), b.Ptr(b.Stub("r"))))
			case w == "y":
				b.Hold(b.Struct("y", b.Ptr(b.Stub("s"))))
			case w == "z":
				b.Hold(b.Struct("z", b.Ptr(b.Stub("s")), b.Ptr(b.Stub("r"))))
			case w == "top":
				b.Hold(b.Struct("top", b.Ptr(b.Stub("y")), b.Ptr(b.Stub("z"))))
			case w == "other":
				other()
			case w == "holder":
				b.Hold(b.Struct("holder", other()))
			case w == "both":
				var ptrs []types.ID
				for _, w := range words[k+1 : k+3] {
					d := def(w)
					stub := b.Graph.PinnedStub(types.TagStruct, b.Str(w[:1]), b.Graph.Nodes[d].Hash)
					b.Graph.Nodes[stub].Ref = d
					ptrs = append(ptrs, b.Ptr(stub))
				}
				b.Last().FromBTF = true
				b.Hold(b.Struct("both", ptrs...))
			case w[len(w)-1] == 'x':
				fmt.Sscanf(w, "%dx", &b.Last().Count)
			default:
				b.Hold(def(w))
			}
		}
	}
}

// users returns a list of the types in a result that refer to s and r, in the form "user s1 r?".
// The number after a tag is how many members its definition has; "?" means a declaration. Types
// that a base has are in parentheses.
func users(b *btf.Blob) []string {
	var out []string
	var meaning func(id uint32) string
	meaning = func(id uint32) string {
		t, own := b.ByID(id)
		switch t.Kind {
		case btf.KindPtr:
			return meaning(t.SizeOrType)
		case btf.KindFwd:
			return b.TypeName(t) + "?"
		case btf.KindTypedef:
			return b.TypeName(t) + "=" + meaning(t.SizeOrType)
		}
		if name := b.TypeName(t); name == "y" || name == "z" {
			for _, m := range own.MembersOf(t) {
				name += meaning(m.Type)
			}
			return name
		}
		return fmt.Sprintf("%s%d", b.TypeName(t), len(own.MembersOf(t)))
	}
	for id := uint32(1); id < b.EndID(); id++ {
		t, own := b.ByID(id)
		line := b.TypeName(t)
		switch line {
		case "user", "holder", "both", "top":
			for _, m := range own.MembersOf(t) {
				line += " " + meaning(m.Type)
			}
		case "other":
			line += " " + meaning(t.SizeOrType)
		default:
			continue
		}
		if id < b.StartID {
			line = "(" + line + ")"
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

func TestForwards(t *testing.T) {
	for _, c := range []struct{ name, base, units, want string }{
		{"nobody defines it", "", "user", "user s? r?"},
		{"one definition", "", "user\n s1\n 5x r2", "user s1 r2"},
		{"the unit's own definition, however few units have it", "", "s1 user r1\n 5x s2", "user s1 r1"},
		{"two units, each with its own definition", "", "s1 r1 user\n s2 r1 user",
			"user s1 r1, user s2 r1"},
		{"units that hold the same type agree", "", "s1 user\n user\n 5x s2", "user s1 r?"},
		{"units that hold the same type agree on one tag; most units decide the other", "",
			"s1 user\n s1 r1 user\n s1 r2 user\n user\n 5x s2\n 2x r2", "user s1 r1, user s1 r2"},
		{"units that hold the same type disagree: the most common definition", "",
			"s1 user r1\n s2 user r1\n user\n s3\n s1",
			"user s1 r1, user s2 r1"},
		{"no unit that holds the type defines the tag: the most common definition", "",
			"user\n 3x s1\n 4x s2\n 2x s3 r1", "user s2 r1"},
		{"units count, not different contents", "", "user\n s1\n s1 r1\n s1 other\n 4x s2",
			"other s1, user s2 r1"},
		{"the innermost named type counts: a struct and a typedef", "",
			"s1 user\n s2 other\n user other\n 9x s3", "other s2, user s1 r?"},
		{"a typedef means the same in every type that holds it", "", "s1 other\n holder\n 9x s2",
			"holder other=s1, other s1"},
		{"a type that means two definitions at once", "", "both s1 s2\n user\n 2x s2",
			"both s1 s2, user s2 r?"},
		{"the tag leads to an uncommon definition in the unit: as in units with that definition", "",
			"3x s1 y top\n s2 y top\n s2 top", "top ys1 z?, top ys2 z?"},
		{"as in units with that definition, although they hold it in other types", "",
			"3x s1 y top\n s2 y\n s2 top", "top ys1 z?, top ys2 z?"},
		{"no other unit has that definition", "", "3x s1 y top\n s2 top", "top ys1 z?"},
		{"units with that definition define another tag differently", "",
			"3x s1 r1 y z top\n s2 r2 y z\n s2 r1 top",
			"top ys1 zs1r1, top ys2 zs1r1"},
		{"units with that definition differ in a tag to which the tag doesn't lead", "",
			"3x s1 r1 y top\n s2 r1 y\n s2 r2 top",
			"top ys1 z?, top ys2 z?"},
		{"several units have that definition, and most agree", "",
			"4x s1 r1 z\n s2 r1 z\n 2x s2 r2 z\n s2 top",
			"top y? zs2r2"},
		{"a base's definition", "s1 r1", "user", "user s1 r1"},
		{"a unit's definition rather than the base's", "9x s1 r1", "user\n s2", "user s2 r1"},
		{"units that hold the same type in the base", "s1 r1 user\n s2\n s3", "user", "(user s1 r1)"},
		{"only the base defines the tag, and nothing there holds the type: any definition", "s1 r1\n s2",
			"user", "user s1 r1|user s2 r1"},
		{"several definitions in a base", "s1 r1 user\n s2 r1 user", "s2 user\n s1 user",
			"(user s1 r1), (user s2 r1)"},
		{"a base only declares the tag: a struct is the base's", "user", "s1 user", "(user s? r?)"},
		{"a base only declares the tag: a typedef is not", "other", "s1 other", "(other s?), other s1"},
		{"a base only declares the tag: a struct that holds a typedef", "holder", "s1 holder",
			"(holder other=s?), (other s?), other s1"},
		{"a base and a unit declare the tag", "user", "user\n s1", "(user s? r?)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var opt Options
			if c.base != "" {
				base := newBuilder()
				sketch(base, c.base)
				b := must.Get(btf.Parse(linkOne(t, Options{}, base.Object), nil))(t)
				opt.Base = on(t, b)
			}
			lines := strings.Split(c.units, "\n")
			for _, rotate := range []int{0, 1, 2} {
				b := newBuilder()
				k := rotate % len(lines)
				sketch(b, strings.Join(lines[k:], "\n")+"\n"+strings.Join(lines[:k], "\n"))
				out := must.Get(btf.Parse(linkOne(t, opt, b.Object), blobOf(opt.Base)))(t)
				got := strings.Join(users(out), ", ")
				if !slices.Contains(strings.Split(c.want, "|"), got) {
					t.Errorf("%s, want %s", got, c.want)
				}
			}
		})
	}
}

// TestTie: two definitions are held by the same number of units. Either may be chosen, but the
// choice must always be the same.
func TestTie(t *testing.T) {
	seen := map[string]bool{}
	for _, text := range []string{"user\n 2x s1\n 2x s2", "2x s2\n user\n 2x s1",
		"s1\n s1 r1\n s2\n s2 r1\n user", "user\n s2\n s2\n s1\n s1"} {
		b := newBuilder()
		sketch(b, text)
		out := must.Get(btf.Parse(linkOne(t, Options{}, b.Object), nil))(t)
		seen[strings.Fields(strings.Join(users(out), ", "))[1]] = true
	}
	if len(seen) != 1 || seen["s?"] {
		t.Errorf("the tag means %v", slices.Collect(maps.Keys(seen)))
	}
}

// TestRandomForwards checks random units against the rule, applied the naive way. No definition
// leads to another tag, so in a unit, each tag resolves to one of its definitions.
func TestRandomForwards(t *testing.T) {
	var agreed, most int
	for seed := range int64(600) {
		r := rand.New(rand.NewSource(seed))
		var units []map[string]bool
		var counts []int
		words := []string{"s1", "s2", "s3", "r1", "r2", "user", "other", "holder"}
		var text strings.Builder
		for range 2 + r.Intn(7) {
			u := map[string]bool{}
			for _, tag := range []string{"s", "r"} {
				if k := r.Intn(5); k > 0 && k <= 3 && tag+fmt.Sprint(k) != "r3" {
					u[tag+fmt.Sprint(k)] = true
				}
			}
			for _, w := range words[5:] {
				if r.Intn(3) == 0 {
					u[w] = true
				}
			}
			if u["holder"] {
				u["other"] = true
			}
			if len(u) == 0 {
				continue
			}
			n := 1 + r.Intn(3)
			units, counts = append(units, u), append(counts, n)
			fmt.Fprintf(&text, "%dx %s\n", n, strings.Join(slices.Sorted(maps.Keys(u)), " "))
		}
		if len(units) == 0 {
			continue
		}
		b := newBuilder()
		sketch(b, text.String())
		m := must.Get(object.Merge(b.Object))(t)
		out := must.Get(btf.Parse(linkOne(t, Options{}, m), nil))(t)
		// meaning returns the definition that unit u means by tag in a reference from the type named
		// root. If there is a tie, it returns several definitions.
		meaning := func(u map[string]bool, root, tag string) []string {
			own := func(u map[string]bool) string {
				for _, d := range words[:5] {
					if d[:1] == tag && u[d] {
						return d
					}
				}
				return ""
			}
			if d := own(u); d != "" {
				return []string{d}
			}
			votes, weight := map[string]bool{}, map[string]int{}
			for i, v := range units {
				if d := own(v); d != "" {
					weight[d] += counts[i]
					if v[root] {
						votes[d] = true
					}
				}
			}
			if len(votes) == 1 {
				agreed++
				return slices.Collect(maps.Keys(votes))
			}
			var best []string
			for _, d := range slices.Sorted(maps.Keys(weight)) {
				switch {
				case len(best) == 0 || weight[d] > weight[best[0]]:
					best = []string{d}
				case weight[d] == weight[best[0]]:
					best = append(best, d)
				}
			}
			if best == nil {
				return []string{tag + "?"}
			}
			most++
			return best
		}
		want, tie := map[string]bool{}, false
		one := func(list []string) string { tie = tie || len(list) > 1; return list[0] }
		for _, u := range units {
			if u["user"] {
				want["user "+one(meaning(u, "user", "s"))+" "+one(meaning(u, "user", "r"))] = true
			}
			if u["other"] {
				o := one(meaning(u, "other", "s"))
				want["other "+o] = true
				if u["holder"] {
					want["holder other="+o] = true
				}
			}
		}
		if got := users(out); !tie && !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
			t.Fatalf("seed %d: %q, want %q\n%s", seed, got, slices.Sorted(maps.Keys(want)), text.String())
		}
	}
	if agreed < 100 || most < 100 {
		t.Errorf("%d forwards by agreement, %d by weight", agreed, most)
	}
}
