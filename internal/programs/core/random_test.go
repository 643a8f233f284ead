package core_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/programs/bpftest"
	"github.com/rules-btf/rules_btf/internal/programs/core"
)

// ciliumDiffers lists how answers of cilium/ebpf may differ from libbpf's, as "kind: cilium's
// answer, libbpf's answer", and why. TestCases shows most of these differences. If vmlinux and
// modules have several types of one name, any answer may differ: libbpf refuses types that
// disagree, and reads modules only if vmlinux has no type of this name; cilium takes the type that
// has most of what is needed. For 32-bit kernels, any size may differ, because cilium's pointers
// have 8 bytes.
var ciliumDiffers = map[string]string{
	"byte_off: a value, poison":        roots,
	"byte_off: refused, poison":        gaveUp,
	"byte_sz: a value, poison":         roots,
	"byte_sz: refused, poison":         gaveUp,
	"lshift_u64: a value, poison":      roots,
	"lshift_u64: refused, poison":      gaveUp,
	"rshift_u64: a value, poison":      roots,
	"rshift_u64: refused, poison":      gaveUp,
	"signed: a value, poison":          roots,
	"signed: refused, poison":          gaveUp,
	"field_exists: 0 or 1, 0 or 1":     roots,
	"field_exists: refused, 0 or 1":    gaveUp,
	"field_exists: 0 or 1, refused":    several + "; " + noSize,
	"byte_off: a value, refused":       several,
	"byte_sz: a value, refused":        several,
	"signed: a value, refused":         several,
	"lshift_u64: a value, a value":     packed,
	"lshift_u64: a value, refused":     several,
	"rshift_u64: a value, refused":     several,
	"byte_off: poison, refused":        noSize,
	"byte_sz: poison, refused":         noSize,
	"lshift_u64: poison, refused":      noSize,
	"rshift_u64: poison, refused":      noSize,
	"signed: poison, refused":          noSize,
	"target_type_id: poison, a value":  zero,
	"target_type_id: refused, a value": gaveUp,
	"type_size: poison, a value":       zero,
	"type_size: refused, a value":      gaveUp,
	"type_exists: 0 or 1, 0 or 1":      roots,
	"type_exists: refused, 0 or 1":     gaveUp,
	"type_matches: 0 or 1, 0 or 1":     pointees,
	"type_matches: refused, 0 or 1":    gaveUp,
	"enumval_exists: 0 or 1, 0 or 1":   flavors,
	"enumval_value: a value, a value":  signs,
}

const (
	roots = "libbpf requires that the kernel's type has the kind of the local type, and that " +
		"elements of arrays are compatible"
	pointees = "cilium compares the types that pointers lead to differently, see TestCases"
	gaveUp   = "cilium gives up for some types and arrays that libbpf finds different"
	several  = "if types of one name disagree, cilium takes the one that has most of what is needed"
	signs    = "libbpf sign-extends 32-bit values, even in unsigned enums"
	noSize   = "libbpf refuses programs that read a field that is a function or void in the kernel"
	packed   = "cilium's shift is negative for a field that isn't aligned in its struct"
	flavors  = "to libbpf, a name such as a_____b has no flavor"
	zero     = "in libbpf, what is missing has the size 0 and the id 0"
)

// TestRandom checks that our answers for random programs equal libbpf's, and counts how often
// cilium/ebpf's differ. Environment variables control the test: RANDOM_PROGRAMS is the number of
// programs for each kernel, RANDOM_SEED is the first seed, and KERNEL_BTF lists real kernels (see
// bpftest.Real).
func TestRandom(t *testing.T) {
	lib := bpftest.NewLibbpf(t)
	twins := bpftest.Kernel(t, theKernel, theTwins)
	kernels := map[string][][]byte{
		"small":      {bpftest.Kernel(t, theKernel)},
		"big endian": {bpftest.BigEndian(t, theKernel)},
		"twins": {twins, bpftest.Module(t, twins, theModule),
			bpftest.Module(t, twins, theTwins)},
	}
	if !testing.Short() {
		for name, data := range bpftest.Real(t) {
			kernels[name] = [][]byte{data}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kernels)) {
		t.Run(name, func(t *testing.T) {
			blobs, counts := kernels[name], map[core.Kind]int{}
			seed := bpftest.Number(t, "RANDOM_SEED", 1)
			for left := bpftest.Number(t, "RANDOM_PROGRAMS", 100); left > 0; left -= 100 {
				compareRandom(t, lib, counts, uint64(seed), min(left, 100), blobs[0], blobs[1:]...)
				seed++
			}
			t.Logf("relocations compared: %v", counts)
		})
	}
}

func compareRandom(t *testing.T, lib *bpftest.Libbpf, counts map[core.Kind]int, seed uint64,
	n int, vmlinux []byte, modules ...[]byte) {
	t.Helper()
	k := bpftest.Parse(t, vmlinux, modules...)
	object, sources := bpftest.NewRandom(seed, k).Compile(t, n)
	libbpf, libbpfPatched := lib.Ask(t, object, vmlinux, modules...)
	ours, patched, kinds := ask(t, object, k)
	cilium := bpftest.Cilium(t, object, vmlinux, modules...)
	differ := map[string]int{}
	for at := range ours {
		counts[kinds[at]]++
		if kinds[at] == core.FieldLShift && k.Vmlinux.Order == binary.BigEndian {
			libbpf[at] = shiftOf(libbpf[at], cilium[at])
			libbpfPatched[at] = shiftOf(libbpfPatched[at], cilium[at])
		}
		if ours[at] != libbpf[at] || patched[at] != libbpfPatched[at] {
			t.Errorf("seed %d, %v, %v: we say %s and %s, libbpf says %s and %s\n%s", seed, at, kinds[at],
				ours[at], patched[at], libbpf[at], libbpfPatched[at], sources[at.Function])
		}
		if cilium[at] != libbpf[at] {
			what := fmt.Sprintf("%v: %s, %s", kinds[at], word(kinds[at], cilium[at]),
				word(kinds[at], libbpf[at]))
			differ[what]++
			if ciliumDiffers[what] == "" && len(modules) == 0 && k.Vmlinux.PointerSize() == 8 {
				t.Errorf("seed %d, %v, %s: cilium says %s, libbpf %s, for no known reason\n%s", seed, at,
					what, cilium[at], libbpf[at], sources[at.Function])
			}
		}
	}
	t.Logf("seed %d: %d relocations in %d programs; cilium, libbpf: %v", seed, len(ours), n, differ)
}

// shiftOf returns libbpf's answer to a left shift (lshift_u64) for a big-endian kernel. A number is
// taken from cilium, because libbpf computes it for the byte order of the machine on which libbpf
// runs.
func shiftOf(libbpf, cilium string) string {
	if libbpf == bpftest.Poison || libbpf == bpftest.Refused {
		return libbpf
	}
	return cilium
}

// word returns the class of an answer, as ciliumDiffers names it.
func word(k core.Kind, answer string) string {
	switch {
	case answer == bpftest.Poison, answer == bpftest.Refused:
		return answer
	case k.IsGuard() && k != core.TypeSize && k != core.TypeIDTarget:
		return "0 or 1"
	}
	return "a value"
}
