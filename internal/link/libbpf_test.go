package link

import (
	"bytes"
	_ "embed"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/language"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// These tests compare the link with libbpf's deduplication (btf__add_btf, btf__dedup) of the same
// blobs.

//go:embed testdata/libbpf_dedup.c
var libbpfSource []byte

// libbpf builds a program from testdata, and returns a function that deduplicates blobs with it. If
// there is a base, there must be only one blob, which is split BTF on this base.
func libbpf(t *testing.T) func(base *btf.Blob, blobs ...[]byte) *btf.Blob {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "libbpf_dedup")
	must.OK(t, os.WriteFile(program+".c", libbpfSource, 0o666))
	if err := exec.Command("gcc", "-O1", "-o", program, program+".c",
		"-l:libbpf.so.1").Run(); err != nil {
		t.Skipf("SKIPPED: no gcc with libbpf (./bazelw --root-exec has both): %v", err)
	}
	return func(base *btf.Blob, blobs ...[]byte) *btf.Blob {
		t.Helper()
		out := filepath.Join(dir, "out.btf")
		args := []string{out}
		if base != nil {
			data := must.Get(btf.Encode(base, btf.EncodeOptions{}))(t)
			args = append(args, "--base")
			blobs = append([][]byte{data}, blobs...)
		}
		for i, b := range blobs {
			path := filepath.Join(dir, fmt.Sprintf("%d.btf", i))
			must.OK(t, os.WriteFile(path, b, 0o666))
			args = append(args, path)
		}
		if text, err := exec.Command(program, args...).CombinedOutput(); err != nil {
			t.Fatalf("libbpf: %v\n%s", err, text)
		}
		b := must.Get(btf.ReadOne(out, base))(t)
		return b
	}
}

// tagWord returns the C keyword for a tag's namespace, or "" for a type that can't have a tag.
func tagWord(t *btf.Type) string {
	switch {
	case t.Kind == btf.KindStruct || t.Kind == btf.KindFwd && !t.KFlag:
		return "struct"
	case t.Kind == btf.KindUnion || t.Kind == btf.KindFwd:
		return "union"
	case t.Kind.IsEnum():
		return "enum"
	}
	return ""
}

// tagNamed returns a tag as C writes it, such as "struct dev", or "" for a type without a tag.
func tagNamed(b *btf.Blob, id uint32) string {
	if t, _ := b.ByID(id); t != nil && tagWord(t) != "" && b.TypeName(t) != "" {
		return tagWord(t) + " " + b.TypeName(t)
	}
	return ""
}

// openTags finds the tags that have several definitions and that some input only declares. What
// such a tag means in that input is a matter of choice. libbpf treats a forward declaration as
// equal to each of the definitions. So which types are equal depends on the order of the
// inputs, and libbpf may join types that differ. A tag that leads to an open tag is open as well,
// even if only libbpf's result has several definitions of it.
func openTags(inputs []*btf.Blob, ours, theirs *btf.Blob) map[string]bool {
	declared := map[string]bool{}
	for _, b := range inputs {
		for id := uint32(1); id < b.EndID(); id++ {
			if t, _ := b.ByID(id); isDeclaration(t) {
				declared[tagNamed(b, id)] = true
			}
		}
	}
	tags := map[string]bool{}
	for _, result := range []*btf.Blob{ours, theirs} {
		for changed := true; changed; {
			changed = false
			leads := leads(result, tags)
			definitions, leading := map[string]int{}, map[string]bool{}
			for id := uint32(1); id < result.EndID(); id++ {
				name := tagNamed(result, id)
				if t, _ := result.ByID(id); isDeclaration(t) || !declared[name] {
					continue
				}
				definitions[name]++
				leading[name] = leading[name] || leads[id]
			}
			for name, n := range definitions {
				if n > 1 && !tags[name] && (result == ours || leading[name]) {
					tags[name], changed = true, true
				}
			}
		}
	}
	return tags
}

// leads finds the types that lead to one of the tags.
func leads(b *btf.Blob, tags map[string]bool) []bool {
	found := make([]bool, b.EndID())
	users := make([][]uint32, b.EndID())
	var work []uint32
	for id := range b.EndID() {
		_, refs := spelling(b, id)
		for _, r := range refs {
			users[r] = append(users[r], id)
		}
		if found[id] = tags[tagNamed(b, id)]; found[id] {
			work = append(work, id)
		}
	}
	for ; len(work) > 0; work = work[1:] {
		for _, u := range users[work[0]] {
			if !found[u] {
				found[u] = true
				work = append(work, u)
			}
		}
	}
	return found
}

// againstLibbpf compares our link of blobs with libbpf's: except for types that lead to open tags,
// both must have the same types, and our link must have each of them once. It returns how many
// types of our link were compared, and how many there are in all.
func againstLibbpf(t *testing.T, dedup func(*btf.Blob, ...[]byte) *btf.Blob,
	data [][]byte) (compared, all int) {
	t.Helper()
	var inputs []*btf.Blob
	for _, d := range data {
		b := must.Get(btf.Parse(d, nil))(t)
		inputs = append(inputs, b)
	}
	ours := must.Get(btf.Parse(linkOne(t, Options{}, fromBTF(t, inputs...)), nil))(t)
	theirs := dedup(nil, data...)
	tags := openTags(inputs, ours, theirs)
	if len(tags) == 0 && len(ours.Types) > len(theirs.Types) {
		t.Errorf("%d types, libbpf has %d", len(ours.Types), len(theirs.Types))
	}
	sides := [2]*btf.Blob{ours, theirs}
	class := bisimulation(ours, theirs)
	leads := [2][]bool{leads(ours, tags), leads(theirs, tags)}
	for i := range sides {
		other := map[int]bool{}
		for id, c := range class[1-i] {
			if other[c] && i == 1 {
				t.Errorf("the link has type %d twice", id)
			}
			other[c] = true
		}
		for id, c := range class[i] {
			if !leads[i][id] && !other[c] {
				t.Errorf("only %s: %s", [2]string{"the link has", "libbpf has"}[i],
					spell(sides[i], uint32(id), 3))
			}
			if i == 0 && id != 0 && !leads[i][id] {
				compared++
			}
		}
	}
	if t.Failed() && len(ours.Types) < 100 {
		for _, b := range append(inputs, ours, theirs) {
			t.Log("\n" + describe(b))
		}
	}
	if len(data) > 10 {
		t.Logf("%d types, libbpf has %d; open tags: %q", len(ours.Types), len(theirs.Types),
			slices.Sorted(maps.Keys(tags)))
	}
	return compared, len(ours.Types)
}

func TestLibbpfRandom(t *testing.T) {
	dedup := libbpf(t)
	for _, c := range []struct {
		name   string
		change func(*object.Object)
	}{
		{"forwards of tags with one definition", oneDefinition},
		{"several definitions, no forwards", define},
		{"several definitions and forwards", func(*object.Object) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			compared, all := 0, 0
			for seed := range seeds(60) {
				r := rand.New(rand.NewSource(seed))
				o := randomUnits(r, 1+r.Intn(6), 2+r.Intn(5))
				c.change(o)
				n, m := againstLibbpf(t, dedup, unitBlobs(t, o))
				compared, all = compared+n, all+m
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
			t.Logf("%d of %d types compared", compared, all)
		})
	}
}

// TestLibbpfForwardInSplit links split BTF that declares a tag that its base declares or defines.
func TestLibbpfForwardInSplit(t *testing.T) {
	dedup := libbpf(t)
	holder := func(b *btf.Builder, name string, s uint32) {
		b.Composite(btf.KindStruct, name, 8, false,
			btf.Member{NameOff: b.Name("m"), Type: b.Ref(btf.KindPtr, "", s)})
	}
	define := func(b *btf.Builder, name string) uint32 {
		i := b.Int("int", 4, btf.IntSigned, 32)
		return b.Composite(btf.KindStruct, "s", 4, false, btf.Member{NameOff: b.Name(name), Type: i})
	}
	forward := func(b *btf.Builder) uint32 { return b.Fwd("s", false) }
	const forwardOfBase = 1
	declares := func(b *btf.Builder) { holder(b, "user", forward(b)) }
	defines := func(b *btf.Builder) { holder(b, "user", define(b, "a")) }
	definesToo := func(b *btf.Builder) { declares(b); define(b, "a") }
	for _, c := range []struct {
		name        string
		base, split func(b *btf.Builder)
		want        string // the references to s in split BTF, in the form that users returns
	}{
		{"one definition, and a declaration in split BTF", declares,
			func(b *btf.Builder) { holder(b, "user", define(b, "a")); holder(b, "top", forward(b)) },
			"top s1"},
		{"one definition, and only the base's declaration", declares,
			func(b *btf.Builder) { define(b, "a"); holder(b, "top", forwardOfBase) }, "top s?"},
		{"several definitions", declares,
			func(b *btf.Builder) { define(b, "a"); define(b, "b"); holder(b, "top", forward(b)) },
			"top s?"},
		{"no definition", declares, func(b *btf.Builder) { holder(b, "top", forward(b)) }, "top s?"},
		{"a different definition in the base", defines,
			func(b *btf.Builder) { define(b, "b"); holder(b, "top", forward(b)) }, "top s?"},
		{"the same definition in the base", defines,
			func(b *btf.Builder) { define(b, "a"); holder(b, "top", forward(b)) }, "top s1"},
		{"a different definition in the base, which also declares the tag", definesToo,
			func(b *btf.Builder) { define(b, "b"); holder(b, "top", forward(b)) }, "top s?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			made := func(base *btf.Blob, make func(b *btf.Builder)) *btf.Blob {
				b := btf.NewBuilder(nil, base, nil)
				make(b)
				return b.Finish()
			}
			base := made(nil, c.base)
			split := made(base, c.split)
			data := must.Get(btf.Encode(split, btf.EncodeOptions{}))(t)
			opt := Options{Base: on(t, base)}
			out := linkOne(t, opt, fromBTF(t, split))
			ours := must.Get(btf.Parse(out, base))(t)
			for who, b := range map[string]*btf.Blob{"the link": ours, "libbpf": dedup(base, data)} {
				if !slices.Contains(users(b), c.want) {
					t.Errorf("%s: %q, want %q\n%s", who, users(b), c.want, describe(b))
				}
			}
			if again := linkOne(t, opt, fromBTF(t, ours)); !bytes.Equal(out, again) {
				t.Error("linking again changes the result")
			}
		})
	}
}

// TestLibbpfCompiled links BTF that gcc generated from C.
func TestLibbpfCompiled(t *testing.T) {
	dedup := libbpf(t)
	dir := t.TempDir()
	var blobs [][]byte
	for i, src := range []string{
		"#include <stdio.h>\n#include <sys/socket.h>\nint a(FILE *f, struct sockaddr *s) { return " +
			"f->_fileno + s->sa_family; }",
		"#include <sys/socket.h>\n#include <netinet/in.h>\nint b(struct sockaddr_in *s, struct " +
			"msghdr *m) { return s->sin_port + m->msg_flags; }",
		"#include <pthread.h>\n#include <time.h>\nint c(pthread_mutex_t *m, struct timespec *t, " +
			"struct tm *x) { return m->__data.__lock + t->tv_nsec + x->tm_sec; }",
		"#include <sys/stat.h>\n#include <dirent.h>\nstruct opts { int i; };\nint d(struct stat *s, " +
			"struct dirent *x, struct opts *o) { return s->st_size + x->d_ino + o->i; }",
		"#include <sys/stat.h>\n#include <stdio.h>\nstruct opts { long i; };\nint e(struct stat *s, " +
			"FILE *f, struct opts *o) { return s->st_size + f->_flags + o->i; }",
		"#include <signal.h>\nstruct later;\nstruct first { struct later *l; siginfo_t info; };\nint " +
			"f(struct first *p) { return p->l != 0; }",
		"struct first;\nstruct later { struct first *f; enum { A, B } e; };\nint g(struct later *p) " +
			"{ return p->e; }",
	} {
		c := filepath.Join(dir, fmt.Sprintf("%d.c", i))
		must.OK(t, os.WriteFile(c, []byte(src), 0o666))
		if out, err := exec.Command("gcc", "-gbtf", "-O1", "-c", "-o", c+".o",
			c).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		b := must.Get(btf.ReadOne(c+".o", nil))(t)
		data := must.Get(btf.Encode(b, btf.EncodeOptions{}))(t)
		blobs = append(blobs, data)
	}
	compared, all := againstLibbpf(t, dedup, blobs)
	t.Logf("%d of %d types compared", compared, all)
	if compared < all*9/10 {
		t.Error("too few types compared: the others lead to open tags")
	}
}

// TestLibbpfKernel links the units of the file named by LIBBPF_ELF, such as a module with DWARF.
func TestLibbpfKernel(t *testing.T) {
	path := os.Getenv("LIBBPF_ELF")
	if path == "" {
		t.Skip("SKIPPED: set LIBBPF_ELF to an ELF file with DWARF, such as a module")
	}
	dedup := libbpf(t)
	f, err := elf.Open(path)
	must.OK(t, err)
	defer f.Close()
	excluded, err := language.Parse("rust")
	must.OK(t, err)
	made, err := convert.File(f, convert.Options{Features: features.Default(), LangExclude: excluded})
	must.OK(t, err)
	o, err := object.Merge(made.Object)
	must.OK(t, err)
	compared, all := againstLibbpf(t, dedup, unitBlobs(t, o))
	t.Logf("%d units: %d of %d types compared", len(o.Units), compared, all)
	if compared < all/2 {
		t.Error("too few types compared: the others lead to open tags")
	}
}

// unitBlobs links each unit by itself.
func unitBlobs(t *testing.T, o *object.Object) [][]byte {
	t.Helper()
	var blobs [][]byte
	for i := range o.Units {
		one := *o
		one.Units = o.Units[i : i+1 : i+1]
		if data := linkOne(t, Options{}, &one); len(data) > btf.HeaderLen+1 {
			blobs = append(blobs, data) // libbpf can't add BTF without types
		}
	}
	return blobs
}

// oneDefinition removes all definitions of each tag except the first.
func oneDefinition(o *object.Object) {
	first := map[string]types.ID{}
	for i := range o.Units {
		u := &o.Units[i]
		u.Items = slices.DeleteFunc(u.Items, func(id types.ID) bool {
			n := &o.Graph.Nodes[id]
			if !n.IsDefinition() {
				return false
			}
			key := fmt.Sprint(types.TagOf(n.Kind), o.Graph.Name(n))
			if first[key] == 0 {
				first[key] = id
			}
			return first[key] != id
		})
	}
}

// define adds to each unit the definitions of the tags that the unit refers to.
func define(o *object.Object) {
	g := o.Graph
	defs := map[types.ID]types.ID{} // by stub
	for id := range g.Nodes {
		if n := g.Nodes[id]; n.IsDefinition() {
			defs[g.StubFor(&n)] = types.ID(id)
		}
	}
	for i := range o.Units {
		u := &o.Units[i]
		own := map[types.ID]bool{}
		for _, id := range u.Items {
			if n := g.Nodes[id]; n.IsDefinition() {
				own[g.StubFor(&n)] = true
			}
		}
		work := slices.Clone(u.Items)
		seen := map[types.ID]bool{}
		for ; len(work) > 0; work = work[1:] {
			id := work[0]
			n := &g.Nodes[id]
			if id == 0 || seen[id] {
				continue
			}
			seen[id] = true
			if d := defs[id]; n.Kind == types.KindStub && d != 0 && !own[id] {
				own[id] = true
				work = append(work, d)
			}
			if survey.Named(n) && !slices.Contains(u.Items, id) {
				u.Items = append(u.Items, id)
			}
			if n.Kind == types.KindStub {
				continue
			}
			work = append(work, n.Ref)
			for _, e := range g.ElemsOf(n) {
				work = append(work, e.Ref)
			}
		}
	}
}
