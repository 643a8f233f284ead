package relocate_test

import (
	"bytes"
	_ "embed"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/distill"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

//go:embed testdata/relocate.c
var libbpfSource []byte

// problem is raw BTF to relocate.
type problem struct {
	what                   string
	distilled, split, base []byte
}

// libbpf lets libbpf relocate the BTF of each problem. A result is nil if libbpf refuses the
// problem.
func libbpf(t *testing.T, problems []problem) [][]byte {
	t.Helper()
	dir := t.TempDir()
	path := func(format string, args ...any) string {
		return filepath.Join(dir, fmt.Sprintf(format, args...))
	}
	write := func(name string, data []byte) string {
		must.OK(t, os.WriteFile(name, data, 0o666))
		return name
	}
	write(path("relocate.c"), libbpfSource)
	if err := exec.Command("gcc", "-O1", "-o", path("relocate"), path("relocate.c"),
		"-l:libbpf.so.1").Run(); err != nil {
		t.Skipf("SKIPPED: no gcc with libbpf (./bazelw --root-exec has both): %v", err)
	}
	var list strings.Builder
	for i, p := range problems {
		fmt.Fprintln(&list, write(path("%d.distilled", i), p.distilled), write(path("%d.split", i),
			p.split), write(path("%d.base", i), p.base), path("%d.out", i))
	}
	command := exec.Command(path("relocate"))
	command.Stdin = strings.NewReader(list.String())
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("libbpf: %v\n%s", err, tail(out))
	}
	results := make([][]byte, len(problems))
	for i := range results {
		data, err := os.ReadFile(path("%d.out", i))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		results[i] = data
	}
	return results
}

func tail(text []byte) []byte { return text[max(0, len(text)-2000):] }

// solve relocates the BTF of a problem with the package under test.
func solve(t *testing.T, p problem) ([]byte, error) {
	t.Helper()
	distilled, base := parse(t, p.distilled, nil), parse(t, p.base, nil)
	result, err := relocate.Relocate(parse(t, p.split, distilled), base)
	if err != nil {
		return nil, err
	}
	return encode(t, result), nil
}

func parse(t testing.TB, data []byte, base *btf.Blob) *btf.Blob {
	t.Helper()
	b := must.Get(btf.Parse(data, base))(t)
	return b
}

func encode(t testing.TB, b *btf.Blob) []byte {
	t.Helper()
	data := must.Get(btf.Encode(b, btf.EncodeOptions{}))(t)
	return data
}

// TestLikeLibbpf runs the cases of TestChangedBase, and random ones. It expects the bytes that
// libbpf makes, or an error if libbpf refuses the input.
func TestLikeLibbpf(t *testing.T) {
	var problems []problem
	for _, c := range changedBases {
		distilled, split := distilledModule(t, c.split)
		problems = append(problems, problem{c.what, distilled, split, encode(t, c.base())})
	}
	for seed := range int64(600) {
		problems = append(problems, changedProblem(t, seed), wildProblem(t, seed))
	}
	solved := 0
	for i, theirs := range libbpf(t, problems) {
		p := problems[i]
		ours, err := solve(t, p)
		switch {
		case (err == nil) != (theirs != nil):
			t.Errorf("%s: our error is %v, libbpf has %d bytes", p.what, err, len(theirs))
		case !bytes.Equal(ours, theirs):
			t.Errorf("%s: the result differs from libbpf's", p.what)
		case err == nil:
			solved++
		}
	}
	if refused := len(problems) - solved; solved < 200 || refused < 200 {
		t.Errorf("%d problems have a solution and %d have none: too few", solved, refused)
	}
}

// names has so few items that many types have the same name.
var names = []string{"a", "b", "c", "d", "e", "f", "g", "h"}

// randomType adds a type of a random kind and name, as a distilled base may have it; members may
// refer to the types in refs.
func randomType(r *rand.Rand, b *btf.Builder, name string, refs []uint32) {
	size := []uint32{4, 8}[r.Intn(2)]
	var members []btf.Member
	if len(refs) > 0 && r.Intn(2) == 0 {
		members = []btf.Member{{NameOff: b.Name("m" + name), Type: refs[r.Intn(len(refs))]}}
	}
	bitfields := r.Intn(4) == 0
	switch r.Intn(9) {
	case 0, 1, 2:
		b.Composite(btf.KindStruct, name, size, bitfields, members...)
	case 3:
		b.Composite(btf.KindUnion, name, size, bitfields, members...)
	case 4:
		b.Enum(btf.KindEnum, name, size, false, btf.Enumerator{NameOff: b.Name("E" + name), Value: 1})
	case 5:
		b.Enum(btf.KindEnum64, name, size, false, btf.Enumerator{NameOff: b.Name("E" + name), Value: 1})
	case 6:
		b.Int(name, size, uint32(r.Intn(2)), 0)
	case 7:
		b.Float(name, size)
	case 8:
		b.Fwd(name, r.Intn(2) == 0)
	}
}

// randomBase makes a base with up to n types of each name, in random order. Most names belong to
// only one type. It also has types that can't be in a distilled base.
func randomBase(r *rand.Rand, n int) *btf.Builder {
	b := btf.NewBuilder(nil, nil, nil)
	b.Int("int", 4, btf.IntSigned, 0)
	var list []string
	for _, name := range names {
		list = append(list, name)
		for range n - 1 {
			if r.Intn(8) == 0 {
				list = append(list, name)
			}
		}
	}
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	for _, name := range list {
		randomType(r, b, name, []uint32{1})
		if r.Intn(3) == 0 {
			b.Ref(btf.KindTypedef, name, b.NextID()-1)
		}
	}
	return b
}

// randomSplit makes split BTF that refers to random types of its base through members, pointers,
// modifiers, arrays and parameters.
func randomSplit(r *rand.Rand, base *btf.Blob) *btf.Builder {
	m := btf.NewBuilder(nil, base, nil)
	refs := []uint32{0}
	for range 2 + r.Intn(4) {
		to := uint32(r.Intn(int(base.EndID())))
		if t, _ := base.ByID(to); t != nil && t.Kind == btf.KindTypedef {
			to = t.SizeOrType
		}
		for range r.Intn(4) {
			switch r.Intn(6) {
			case 0:
				to = m.Array(to, to, 2)
			case 1:
				to = m.Ref(btf.KindTypedef, names[r.Intn(len(names))], to)
			case 2:
				to = m.Ref(btf.KindConst, "", to)
			case 3:
				to = m.Ref(btf.KindTypeTag, "tag", to)
			case 4:
				to = m.Ref(btf.KindPtr, "", to)
			}
		}
		refs = append(refs, to)
	}
	for _, ref := range refs {
		switch r.Intn(3) {
		case 0:
			m.Composite(btf.KindStruct, "own_"+names[r.Intn(len(names))], 64, false,
				btf.Member{NameOff: m.Name("x"), Type: ref})
		case 1:
			m.Func("f", m.FuncProto(0, btf.Param{NameOff: m.Name("p"), Type: ref}), btf.LinkageStatic)
		case 2:
			m.Ref(btf.KindPtr, "", ref)
		}
	}
	return m
}

// originals makes a random base and split BTF on it.
func originals(seed int64) (base, module *btf.Blob) {
	r := rand.New(rand.NewSource(seed))
	base = randomBase(r, 2).Finish()
	return base, randomSplit(r, base).Finish()
}

// changedProblem distills random split BTF, and makes a new base that has most of the old types, in
// a different order.
func changedProblem(t testing.TB, seed int64) problem {
	t.Helper()
	base, module := originals(seed)
	r := rand.New(rand.NewSource(-seed))
	distilled, split := must.Get2(distill.Encode(encode(t, module), base))(t)
	changed := btf.NewBuilder(nil, nil, nil)
	changed.Name("more")
	order := r.Perm(len(base.Types) - 1)
	changed.Int("int", 4, btf.IntSigned, 0)
	for _, i := range order {
		old := base.Types[i+1]
		old.NameOff = changed.Name(base.TypeName(&old))
		if old.Kind == btf.KindTypedef {
			continue
		}
		old.First, old.Vlen = 0, 0
		switch r.Intn(40) {
		case 0:
			continue
		case 1:
			old.SizeOrType = 12 - old.SizeOrType
		case 2:
			randomType(r, changed, base.TypeName(&base.Types[i+1]), nil)
		case 3:
			changed.Add(old)
		}
		if old.Kind == btf.KindFwd {
			old.SizeOrType = 0
		}
		if old.Kind == btf.KindInt {
			old.Extra = old.Extra&^0xff | 8*old.SizeOrType
		}
		changed.Add(old)
	}
	return problem{fmt.Sprintf("changed base, seed %d", seed), distilled, split,
		encode(t, changed.Finish())}
}

// wildProblem makes a distilled base and a base that are independent of each other.
func wildProblem(t testing.TB, seed int64) problem {
	t.Helper()
	r := rand.New(rand.NewSource(^seed))
	distilled := btf.NewBuilder(nil, nil, nil)
	for range 1 + r.Intn(3) {
		randomType(r, distilled, names[r.Intn(4)], nil)
	}
	if r.Intn(8) == 0 {
		distilled.Ref(btf.KindTypedef, "t", 1)
	}
	d := distilled.Finish()
	base := btf.NewBuilder(nil, nil, nil)
	for range 4 + r.Intn(12) {
		randomType(r, base, names[r.Intn(4)], nil)
	}
	return problem{fmt.Sprintf("wild base, seed %d", seed), encode(t, d),
		encode(t, randomSplit(r, d).Finish()), encode(t, base.Finish())}
}
