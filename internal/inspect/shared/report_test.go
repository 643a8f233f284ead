package shared

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// small returns a base, and two modules that have this base and have a struct in common. The second
// module has one more struct.
func small() (below *btf.Blob, modules []*btf.Blob) {
	w := btf.NewBuilder(nil, nil, nil)
	number := w.Int("int", 4, btf.IntSigned, 0)
	below = w.Finish()
	for i := range 2 {
		w := btf.NewBuilder(nil, below, nil)
		s := w.NextID() + 1
		w.Ref(btf.KindPtr, "", s)
		w.Composite(btf.KindStruct, "common", 16, false,
			btf.Member{NameOff: w.Name("next"), Type: s - 1},
			btf.Member{NameOff: w.Name("n"), Type: number, Offset: 64})
		w.Func("f", w.FuncProto(0, btf.Param{NameOff: w.Name("x"), Type: s - 1}), 1)
		if i == 1 {
			w.Composite(btf.KindStruct, "own", 4, false, btf.Member{NameOff: w.Name("n"), Type: number})
		}
		modules = append(modules, w.Finish())
	}
	return below, modules
}

func TestReport(t *testing.T) {
	below, modules := small()
	r := setOf(t, below, modules...).Report(parsed(t, below), 0)
	// The pointer takes 12 bytes, the struct 12+2*12, the prototype 12+8; the names are common,
	// next, n, x.
	want := Saving{Types: Figures{3, 68}, Strings: Figures{4, 16}, WithoutTypes: Figures{6, 136},
		WithoutStrings: Figures{8, 32}}
	if r.Shared != want || r.Repeats != 1 ||
		r.Types[0] != (Repeat{"struct", "common", 2, 36, 36}) {
		t.Errorf("%+v", r)
	}
	all := 0
	for _, p := range r.Parts {
		all += p.Bytes
	}
	size := 0
	for _, m := range modules {
		data, err := btf.Encode(m, btf.EncodeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		size += len(data)
	}
	if all != size || r.Bytes != size {
		t.Errorf("the parts have %d bytes, the report says %d, the modules have %d", all, r.Bytes, size)
	}
	if got := makeShared(t, below, modules...); got.Header.TypeLen != 68 || got.Header.StrLen != 16 {
		t.Errorf("the shared base has %d bytes of types, %d of strings", got.Header.TypeLen,
			got.Header.StrLen)
	}
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(),
		"      2      36         36  struct common\n") {
		t.Errorf("%v\n%s", err, &text)
	}
}

// TestSameNames counts the definitions of tags that the base defines differently or only declares.
func TestSameNames(t *testing.T) {
	w := btf.NewBuilder(nil, nil, nil)
	number := w.Int("int", 4, btf.IntSigned, 0)
	w.Composite(btf.KindStruct, "other", 4, false, btf.Member{NameOff: w.Name("n"), Type: number})
	w.Fwd("opaque", false)
	w.Fwd("both", true) // a union; the module has a struct with that name
	below := w.Finish()
	w = btf.NewBuilder(nil, below, nil)
	member := btf.Member{NameOff: w.Name("m"), Type: number}
	for _, name := range []string{"other", "opaque", "both", "own"} {
		w.Composite(btf.KindStruct, name, 4, false, member)
	}
	w.Fwd("nowhere", false)
	r := setOf(t, below, w.Finish()).Report(parsed(t, below), 0)
	if r.Redefined != (Figures{1, 24}) || r.Declared != (Figures{1, 24}) {
		t.Errorf("redefined %+v, declared %+v", r.Redefined, r.Declared)
	}
}

// randomModule makes split BTF with a few tags. It defines most of them, and only declares others.
func randomModule(r *rand.Rand, below *btf.Blob) *btf.Blob {
	const tags = 4
	w := btf.NewBuilder(nil, below, nil)
	first := w.NextID() + tags
	for tag := range uint32(tags) {
		w.Ref(btf.KindPtr, "", first+tag)
	}
	for tag := range uint32(tags) {
		name := string(rune('a' + tag))
		switch r.IntN(24) {
		case 0:
			w.Fwd(name, false)
		case 1, 2, 3, 4, 5, 6, 7, 8:
			w.Composite(btf.KindStruct, name, 8, false, btf.Member{NameOff: w.Name("x"), Type: 1})
		default:
			w.Composite(btf.KindStruct, name, 16, false,
				btf.Member{NameOff: w.Name("m"), Type: first - tags + uint32(r.IntN(7)/6+int(tag)+1)%tags},
				btf.Member{NameOff: w.Name("n"), Type: 1, Offset: 64})
		}
	}
	return w.Finish()
}

// TestRandom compares the shared base with the result of a search that compares all pairs of types.
func TestRandom(t *testing.T) {
	below, _ := small()
	found, conflicts := 0, 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 3))
		var modules []*btf.Blob
		declared := map[string]bool{}
		for range 2 + r.IntN(6) {
			m := randomModule(r, below)
			modules = append(modules, m)
			for i := range m.Types {
				if m.Types[i].Kind == btf.KindFwd {
					declared[m.TypeName(&m.Types[i])] = true
				}
			}
		}
		b := makeShared(t, below, modules...)
		for id := b.StartID; id < b.EndID(); id++ {
			if !slices.ContainsFunc(modules, func(m *btf.Blob) bool { return hasEqual(m, b, id) }) {
				t.Fatalf("seed %d: no module has [%d] %s", seed, id, key(b, id))
			}
			if other, _ := b.ByID(id); id > b.StartID && other.NameOff != 0 && key(b, id) == key(b, id-1) {
				conflicts++
			}
		}
		for _, m := range modules {
			for id := m.StartID; id < m.EndID(); id++ {
				holders := 0
				for _, other := range modules {
					if hasEqual(other, m, id) {
						holders++
					}
				}
				if len(declared) > 0 || holders < 2 { // then the type may be unclear or not repeated
					continue
				}
				found++
				if !hasEqual(b, m, id) {
					t.Fatalf("seed %d: %d modules hold %s, the shared base does not", seed, holders,
						key(m, id))
				}
			}
		}
	}
	if found < 100 || conflicts < 5 {
		t.Errorf("only %d shared types, %d with several definitions", found, conflicts)
	}
}

// hasEqual reports whether one of a's own types equals b's type with this id. A forward declaration
// in a may be a definition in b.
func hasEqual(a, b *btf.Blob, id uint32) bool {
	for x := a.StartID; x < a.EndID(); x++ {
		if same(a, b, x, id, true) {
			return true
		}
	}
	return false
}

func TestBadModules(t *testing.T) {
	below, _ := small()
	for name, c := range map[string]struct {
		make func(w *btf.Builder)
		want string
	}{
		"no such type": {func(w *btf.Builder) { w.Ref(btf.KindPtr, "", 99) },
			"[2] PTR refers to [99], but the last type is [2]; was it made with a different base?"},
		"a function": {func(w *btf.Builder) {
			w.Ref(btf.KindPtr, "", 4)
			w.Func("f", w.FuncProto(0), 0)
		}, "BTF type [2] PTR: refers to [4] FUNC, which is not a type"},
		"a function of no prototype": {func(w *btf.Builder) { w.Func("f", 1, 0) },
			"[2] FUNC f refers to [1], which is INT int in the base; was it made with a different base?"},
		"a cycle": {func(w *btf.Builder) { w.Ref(btf.KindPtr, "", 3); w.Ref(btf.KindConst, "", 2) },
			"contains itself without a struct, union or enum in between"},
		"no such name": {func(w *btf.Builder) {
			w.Add(btf.Type{Kind: btf.KindTypedef, NameOff: 12345, SizeOrType: 1})
		}, "[2] TYPEDEF: a name is at string offset 12345, where no string begins; was it"},
	} {
		w := btf.NewBuilder(nil, below, nil)
		c.make(w)
		data, err := w.Encode(btf.EncodeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "bad.btf")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		_, err = Read([]string{path}, below, 1, func(int, int) {})
		if err == nil || !strings.HasPrefix(err.Error(), path+": ") ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzModule reads bytes as a module, and makes a report and a shared base from two copies of this
// module.
func FuzzModule(f *testing.F) {
	below, modules := small()
	for _, m := range modules {
		data, err := btf.Encode(m, btf.EncodeOptions{})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := btf.Parse(data, below)
		if err != nil {
			return
		}
		m, err := readModule(b)
		if err != nil {
			return
		}
		s := newSet(below)
		for range 2 {
			if err := s.add(m); err != nil {
				t.Fatal(err)
			}
		}
		on := parsed(t, below)
		if s.Report(on, 0).Modules != 2 {
			t.Error("not two modules")
		}
		if out, err := s.Write(on, 1); err == nil {
			parse(t, out, below)
		}
	})
}
