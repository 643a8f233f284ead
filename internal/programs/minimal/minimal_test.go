package minimal_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/programs/bpftest"
	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/programs/minimal"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// The sources of a kernel for test programs, of a second file with different types of the same
// names, and of a module.
const theKernel = `
struct pair { int first, second; };
struct inner { int a; long b; struct pair *pair; };
enum color { RED = 1, GREEN = -2, BLUE = 7 };
enum big { SMALL = 1, HUGE_VALUE = 0x123456789a };
struct declared;
typedef struct { int counter; } atomic_t;
typedef int (*callback_t)(struct pair *, const char *);
struct s {
	char c;
	struct inner in;
	struct { int anon_first; union { int anon_a; char anon_b[8]; }; };
	const unsigned u;
	struct inner *ptr;
	struct pair pairs[4];
	unsigned bits:3, more_bits:7;
	enum color color;
	enum big big;
	struct declared *declared;
	callback_t call;
	int tail[];
};
struct zero { int n; int none[0]; int more; int last; };
union u { int a; long b; };
struct s s; struct zero zero; union u u; atomic_t atomic; callback_t callback;
int function(struct pair *p, enum color c) { return p->first + c; }
`

const theTwins = `
struct pair { int first, second; };
struct inner { int a; long b; char more; struct pair *pair; };
enum color { RED = 1, GREEN = -2, BLUE = 7, PINK = 4 };
struct zero { int n; int last; };
struct s { char c; struct inner in; int pairs[3]; struct { unsigned bits:5; enum color color; }; };
struct s s; struct zero zero; enum color color;
`

const theModule = `
struct pair { int first, second; };
struct own { int a; struct pair pair; struct { char b; int flex[]; } in; struct pair *ptr; };
enum own_enum { OWN_A, OWN_B = 5 };
typedef struct own own_t;
struct own own; enum own_enum own_enum; own_t typed;
`

// kernels returns the BTF of kernels and of their modules, by name. The kernel "plain" has only one
// type of each name, and no modules.
func kernels(t *testing.T) map[string][][]byte {
	t.Helper()
	small := bpftest.Kernel(t, theKernel)
	twins := bpftest.Kernel(t, theKernel, theTwins)
	k := map[string][][]byte{
		"plain":  {small},
		"twins":  {twins},
		"module": {small, bpftest.Module(t, small, theModule)},
	}
	if !testing.Short() {
		for name, data := range bpftest.Real(t) {
			k["real "+name] = [][]byte{data}
		}
	}
	return k
}

// programs returns the object file of n random programs for a kernel, and their needs.
func programs(t *testing.T, seed uint64, n int, k *core.Kernel) ([]byte, *needs.Needs) {
	t.Helper()
	object, _ := bpftest.NewRandom(seed, k).Compile(t, n)
	return object, extract(t, object)
}

func extract(t *testing.T, object []byte) *needs.Needs {
	t.Helper()
	o := must.Get(bpfobj.Read(object))(t)
	list := must.Get(needs.Extract(o))(t)
	return list
}

func build(t *testing.T, k *core.Kernel, opt minimal.Options,
	list ...*needs.Needs) *minimal.Result {
	t.Helper()
	r := must.Get(minimal.Build(k, list, opt))(t)
	return r
}

// bpftool returns what "bpftool gen min_core_btf" makes for an object file or a file with needs, or
// nil if bpftool refuses the file.
func bpftool(t *testing.T, kernel, object []byte) []byte {
	t.Helper()
	programtest.Need(t, "bpftool")
	d := programtest.NewDir(t)
	d.Write("kernel.btf", string(kernel))
	d.Write("program.o", string(object))
	out, err := exec.Command("bpftool", "gen", "min_core_btf", d.Path("kernel.btf"),
		d.Path("min.btf"), d.Path("program.o")).CombinedOutput()
	if err != nil {
		t.Logf("bpftool: %s", out)
		return nil
	}
	data, err := os.ReadFile(d.Path("min.btf"))
	must.OK(t, err)
	return data
}

// intSize matches the details of int in the texts that contents returns.
var intSize = regexp.MustCompile(`INT int size 4 [0-9a-f]+`)

// contents returns a blob's own types in words, without ids.
func contents(t *testing.T, data, base []byte) map[string]bool {
	t.Helper()
	b := parse(t, data, base)
	all := map[string]bool{}
	for i := range b.Types {
		all[describe(b, b.StartID+uint32(i), 8, true)] = true
	}
	return all
}

// describe returns a type in words, with what the type refers to. It lists the members of a named
// struct or union only if full is set.
func describe(b *btf.Blob, id uint32, depth int, full bool) string {
	t, of := b.ByID(id)
	if t == nil {
		return "void"
	}
	name := b.TypeName(t)
	text := fmt.Sprintf("%v %s", t.Kind, name)
	if t.Kind.HasSize() {
		text += fmt.Sprintf(" size %d", t.SizeOrType)
	}
	switch {
	case depth == 0, t.Kind.IsComposite() && name != "" && !full:
		return text
	case t.Kind.IsComposite():
		for _, m := range of.MembersOf(t) {
			member, _ := b.Name(m.NameOff)
			bit, bits := m.Bits(t.KFlag)
			text += fmt.Sprintf("; %s at %d:%d %s", member, bit, bits, describe(b, m.Type, depth-1, false))
		}
		return text
	case t.Kind.IsEnum():
		for _, e := range of.EnumsOf(t) {
			value, _ := b.Name(e.NameOff)
			text += fmt.Sprintf("; %s = %d", value, e.Value)
		}
		return text
	case t.Kind == btf.KindArray:
		text += fmt.Sprintf("[%d]", of.ArrayOf(t).Nelems)
	case t.Kind == btf.KindInt:
		text += fmt.Sprintf(" %x", t.Extra)
	}
	for ref := range of.Refs(t) {
		text += " (" + describe(b, *ref, depth-1, false) + ")"
	}
	return text
}

func missing(from, of map[string]bool) []string {
	var list []string
	for _, x := range slices.Sorted(maps.Keys(of)) {
		if !from[x] {
			list = append(list, x)
		}
	}
	return list
}

// TestBpftool checks that our minimal BTF, without hooks, has the same types as bpftool's, for
// kernels in which each name has one type. It also checks that bpftool makes the same BTF for a
// file with needs as for the programs.
func TestBpftool(t *testing.T) {
	programtest.Need(t, "bpftool")
	compared := 0
	for name, blobs := range kernels(t) {
		kind, _, _ := strings.Cut(name, " ")
		for seed := range map[string]uint64{"plain": 8, "real": 2}[kind] {
			k := bpftest.Parse(t, blobs[0])
			object, n := programs(t, seed, 15, k)
			theirs := bpftool(t, blobs[0], object)
			if theirs == nil {
				continue
			}
			compared++
			ours := build(t, k, minimal.Options{}, n).Vmlinux
			want, got := contents(t, theirs, nil), contents(t, ours, nil)
			if less, more := missing(got, want), missing(want, got); less != nil || more != nil {
				t.Errorf("%s, seed %d: bpftool's %d types; we lack\n\t%s\nand also have\n\t%s", name, seed,
					len(want), strings.Join(less, "\n\t"), strings.Join(more, "\n\t"))
			}
			file := must.Get(needs.Write(n))(t)
			if !bytes.Equal(bpftool(t, blobs[0], file), theirs) {
				t.Errorf("%s, seed %d: bpftool's BTF for the needs differs from that for the programs", name,
					seed)
			}
		}
	}
	t.Logf("compared minimal BTF for %d object files", compared)
}

// TestSound checks that libbpf and cilium/ebpf give the same answers for the minimal BTF as for the
// whole BTF, and that libbpf makes the same instructions, apart from type ids. It ignores cilium's
// answer if cilium and libbpf disagree about the whole BTF. It also checks that the minimal BTF is
// valid and doesn't depend on the order of programs, and that the minimal BTF of minimal BTF is
// this same BTF; btf_min relies on that when it writes an archive. RANDOM_ROUNDS is how many random
// files to try for each kernel.
func TestSound(t *testing.T) {
	lib := bpftest.NewLibbpf(t)
	for name, blobs := range kernels(t) {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(rounds(t)) {
				sound(t, lib, 100+seed, blobs)
			}
		})
	}
	t.Run("random", func(t *testing.T) {
		for seed := range uint64(2 * rounds(t)) {
			sources := bpftest.RandomKernel(100 + seed)
			blobs := [][]byte{bpftest.Kernel(t, sources[1:]...)}
			if seed%2 == 1 {
				blobs = append(blobs, bpftest.Module(t, blobs[0], sources[0]))
			}
			sound(t, lib, 100+seed, blobs)
		}
	})
}

// rounds returns how many random files to try for each kernel.
func rounds(t *testing.T) int {
	t.Helper()
	text := cmp.Or(os.Getenv("RANDOM_ROUNDS"), "1")
	n := must.Get(strconv.Atoi(text))(t)
	return n
}

func sound(t *testing.T, lib *bpftest.Libbpf, seed uint64, blobs [][]byte) {
	t.Helper()
	k := bpftest.Parse(t, blobs[0], blobs[1:]...)
	object, n := programs(t, seed, 40, k)
	kinds := map[bpftest.Site]core.Kind{}
	o := must.Get(bpfobj.Read(object))(t)
	for _, f := range o.Functions {
		for at, r := range f.Relocations {
			kinds[bpftest.Site{Function: f.Name, Insn: at}] = r.Kind
		}
	}
	pruned := *lib
	pruned.Pruned = true
	ask := func(blobs ...[]byte) [4]bpftest.Answers {
		_, libbpf := lib.Ask(t, object, blobs[0], blobs[1:]...)
		return [4]bpftest.Answers{libbpf, bpftest.Cilium(t, object, blobs[0], blobs[1:]...),
			lib.Instructions(t, object, blobs[0], blobs[1:]...),
			pruned.Instructions(t, object, blobs[0], blobs[1:]...)}
	}
	whole := ask(blobs...)
	for _, opt := range []minimal.Options{{}, {Hooks: true}, {Flat: true}} {
		r, err := minimal.Build(k, []*needs.Needs{n}, opt)
		if err != nil {
			if !opt.Flat || k.Modules == nil { // see TestFlatConflict
				t.Errorf("seed %d, %+v: %v", seed, opt, err)
			}
			continue
		}
		check(t, r.Vmlinux, nil)
		small := [][]byte{r.Vmlinux}
		for _, m := range k.Modules {
			if data := r.Modules[m.Name]; data != nil {
				check(t, data, r.Vmlinux)
				small = append(small, data)
			}
		}
		for i, answers := range ask(small...) {
			reader := []string{"libbpf", "cilium", "libbpf's instruction",
				"libbpf's instruction, with pruned candidates"}[i]
			for at, got := range answers {
				want := whole[i][at]
				switch {
				case kinds[at] == core.TypeIDTarget && (i > 1 || want != "0" && got != "0"):
					continue
				case i == 1 && (want != whole[0][at] || want == bpftest.Refused ||
					kinds[at] == core.TypeSize && want == "0"):
					continue // cilium finds what libbpf doesn't: only what libbpf finds is kept
				}
				if got != want {
					t.Errorf("seed %d, %+v, %v %v: %s says %s for the whole BTF, %s for the minimal BTF",
						seed, opt, at, kinds[at], reader, want, got)
				}
			}
		}
		little := bpftest.Parse(t, small[0], small[1:]...)
		for i, name := range slices.Sorted(maps.Keys(r.Modules)) {
			little.Modules[i].Name = name
		}
		twice := build(t, little, opt, n)
		if !bytes.Equal(twice.Vmlinux, r.Vmlinux) || !maps.EqualFunc(twice.Modules, r.Modules,
			bytes.Equal) {
			t.Errorf("seed %d, %+v: the minimal BTF of minimal BTF isn't the same BTF", seed, opt)
		}
		shuffled := *n
		shuffled.Programs = slices.Clone(n.Programs)
		rand.New(rand.NewPCG(seed, 2)).Shuffle(len(n.Programs), func(i, j int) {
			p := shuffled.Programs
			p[i], p[j] = p[j], p[i]
		})
		again := build(t, k, opt, &shuffled, n)
		if !bytes.Equal(again.Vmlinux, r.Vmlinux) || !maps.EqualFunc(again.Modules, r.Modules,
			bytes.Equal) {
			t.Errorf("seed %d, %+v: the bytes depend on the order of programs", seed, opt)
		}
	}
}

// check reports each violation of the kernel's rules for BTF.
func check(t *testing.T, data, base []byte) {
	t.Helper()
	for _, v := range verify.Check(parse(t, data, base), verify.Options{}) {
		t.Errorf("%v", v)
	}
}

// parse reads BTF, which is split BTF on the given base unless this base is nil.
func parse(t *testing.T, data, base []byte) *btf.Blob {
	t.Helper()
	var below *btf.Blob
	if base != nil {
		below = parse(t, base, nil)
	}
	b := must.Get(btf.Parse(data, below))(t)
	return b
}
