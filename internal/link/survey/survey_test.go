package survey_test

import (
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/link/linktest"
	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

func TestLists(t *testing.T) {
	l := survey.NewLists[types.Str, string](4, 0)
	l.Add(3, "a")
	l.Add(1, "b")
	l.Add(3, "c")
	for _, c := range []struct {
		key  types.Str
		want []string
	}{{0, nil}, {1, []string{"b"}}, {2, nil}, {3, []string{"c", "a"}}, {4, nil}, {1 << 20, nil}} {
		if got := slices.Collect(l.Of(c.key)); !slices.Equal(got, c.want) {
			t.Errorf("the list of %d is %q, want %q", c.key, got, c.want)
		}
	}
	if got := slices.Collect(l.All()); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("all values are %q", got)
	}
	if got := slices.Collect(l.Keys()); !slices.Equal(got, []types.Str{1, 3}) || l.Len() != 3 {
		t.Errorf("the keys are %v, of %d values; want 1 and 3, of 3", got, l.Len())
	}
	for range l.Of(3) { // a loop may end early
		break
	}
}

// TestUsers: users are listed only for shapes that lead to a stub, because only these can mean
// several types. A user that refers to a shape twice is listed twice; functions are not listed.
func TestUsers(t *testing.T) {
	b := linktest.New()
	integer, stub := b.Int("int"), b.Stub("tag")
	toInt, toStub := b.Ptr(integer), b.Ptr(stub)
	both := b.Struct("both", toInt, toStub, toStub)
	proto := b.Proto(0, toStub)
	b.Unit("a.c", 1, both)
	b.Fn("f", types.LinkageGlobal, 0, proto)
	s := b.Survey()
	for _, c := range []struct {
		name string
		of   types.ID
		want []types.ID
	}{
		{"int, which leads to no stub", integer, nil},
		{"a pointer to int", toInt, nil},
		{"the stub", stub, []types.ID{toStub}},
		{"the pointer to the stub", toStub, []types.ID{proto, both, both}},
		{"a prototype, which only functions refer to", proto, nil},
	} {
		if got := slices.Collect(s.Users.Of(c.of)); !slices.Equal(got, c.want) {
			t.Errorf("users of %s are nodes %d, want %d", c.name, got, c.want)
		}
	}
}

// TestTags: stubs, including pinned ones, and definitions with the same name and kind belong to one
// tag.
func TestTags(t *testing.T) {
	b := linktest.New()
	g := b.Graph
	integer := b.Int("int")
	short, long := b.Struct("tag", integer), b.Struct("tag", integer, integer)
	union := b.Add(types.Node{Kind: types.KindUnion, Name: b.Str("tag"), Size: 4})
	anonymous := b.Struct("", integer)
	plain := b.Stub("tag")
	pinned := g.PinnedStub(types.TagStruct, b.Str("tag"), types.Hash{A: 1})
	b.Unit("a.c", 1)
	s := b.Survey()
	tags := &s.Tags
	if len(tags.List) != 2 || !tags.AnyPinned() {
		t.Fatalf("%d tags, pinned stubs: %v; want 2, true", len(tags.List), tags.AnyPinned())
	}
	tag, other := tags.Of(short), tags.Of(union)
	for _, id := range []types.ID{long, plain, pinned} {
		if tags.Of(id) != tag {
			t.Errorf("node %d is of tag %d, want that of struct tag, %d", id, tags.Of(id), tag)
		}
	}
	if tag == other || tags.Of(integer) != -1 || tags.Of(anonymous) != -1 {
		t.Error("a union has the struct's tag, or a type without a tag has one")
	}
	if !tags.HasPinned(tag) || tags.HasPinned(other) {
		t.Error("only struct tag has a pinned stub")
	}
	if got := tags.Stubs(tag, nil); !slices.Equal(got, []types.ID{plain, pinned}) {
		t.Errorf("the stubs are %d, want %d, the plain one first", got, []types.ID{plain, pinned})
	}
	if got := tags.Stubs(other, nil); len(got) != 0 || tags.List[other].Stub != 0 {
		t.Errorf("union tag, which nothing refers to, has the stubs %d", got)
	}
	if want := g.Node(plain).Hash; s.TagHash(tag) != want {
		t.Error("the hash of a tag is not that of its stub")
	}
}

// TestKinds checks the lists of nodes by kind, and that functions and variables are found by name.
func TestKinds(t *testing.T) {
	b := linktest.New()
	integer := b.Int("int")
	proto, toInt := b.Proto(0), b.Ptr(integer)
	b.Unit("a.c", 1, integer, toInt)
	f := b.Fn("name", types.LinkageGlobal, types.FuncWeak, proto)
	static := b.Fn("name", types.LinkageStatic, 0, proto)
	v := b.Var("name", types.LinkageGlobal, 4, integer)
	tag := b.DeclTag("t", v, 0)
	section := b.Add(types.Node{Kind: types.KindDatasec, Name: b.Str(".data")}, types.Elem{Ref: v})
	s := b.Survey()
	name := b.Str("name")
	functions := []survey.Candidate{{Node: static, Ref: proto},
		{Node: f, Ref: proto, Size: uint32(types.FuncWeak)}}
	if got := slices.Collect(s.Functions.Of(name)); !slices.Equal(got, functions) {
		t.Errorf("functions %+v, want %+v", got, functions)
	}
	variables := []survey.Candidate{{Node: v, Ref: integer, Size: 4}}
	if got := slices.Collect(s.Variables.Of(name)); !slices.Equal(got, variables) {
		t.Errorf("variables %+v, want %+v", got, variables)
	}
	if !slices.Equal(s.Sections, []types.ID{section}) || !slices.Equal(s.DeclTags, []types.ID{tag}) {
		t.Errorf("sections %d, declaration tags %d; want %d, %d", s.Sections, s.DeclTags, section, tag)
	}
	if s.Anonymous[types.KindPtr] != 1 || s.Anonymous[types.KindInt] != 0 {
		t.Errorf("anonymous types by kind: %v", s.Anonymous)
	}
	candidates := s.CandidatesOf(0)
	if want := []types.ID{f, static, v}; !slices.Equal(candidates, want) {
		t.Errorf("the unit's functions and variables are %d, want %d", candidates, want)
	}
}

// TestWeights: the weight of a shape is the number of linked units that hold it. A unit is counted
// as often as its Count says, and not at all after Drop.
func TestWeights(t *testing.T) {
	b := linktest.New()
	one, two, all := b.Struct("one"), b.Struct("two"), b.Struct("all")
	first := b.Unit("a.c", 3, one, all)
	b.Unit("b.c", 1, two, all)
	linked := b.Unit("", 1, two, all)
	plain := b.Survey()
	if plain.LinkedWeight != nil {
		t.Error("there are weights of BTF that was linked before, but there is no such BTF")
	}
	b.Units[linked].FromBTF = true
	s := b.Survey()
	check := func(when string, want ...uint64) {
		t.Helper()
		got := []uint64{s.Weight[one], s.Weight[two], s.Weight[all], s.LinkedWeight[one],
			s.LinkedWeight[two], s.LinkedWeight[all]}
		if !slices.Equal(got, want) {
			t.Errorf("%s: weights and linked weights are %d, want %d", when, got, want)
		}
	}
	check("all units", 3, 2, 5, 0, 1, 1)
	s.Drop(first)
	check("without the first", 0, 2, 2, 0, 1, 1)
	s.Drop(linked)
	check("also without the linked BTF", 0, 1, 1, 0, 0, 0)
	if want := []bool{false, true, false}; !slices.Equal(s.Selected, want) {
		t.Errorf("selected units: %v, want %v", s.Selected, want)
	}
}

func TestNamed(t *testing.T) {
	for _, c := range []struct {
		kind             types.Kind
		named, anonymous bool
	}{
		{types.KindInt, true, false},
		{types.KindFloat, true, false},
		{types.KindTypedef, true, false},
		{types.KindStruct, true, false},
		{types.KindUnion, true, false},
		{types.KindEnum, true, false},
		{types.KindEnum64, true, false},
		{types.KindStub, false, false},
		{types.KindFunc, false, false},
		{types.KindVar, false, false},
		{types.KindTypeTag, false, false},
		{types.KindPtr, false, false},
	} {
		for name, want := range []bool{c.anonymous, c.named} {
			if got := survey.Named(&types.Node{Kind: c.kind, Name: types.Str(name)}); got != want {
				t.Errorf("kind %d, has a name: %v: Named is %v", c.kind, name == 1, got)
			}
		}
	}
}
