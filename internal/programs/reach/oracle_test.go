package reach

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// poison is the number of a helper that doesn't exist. If an instruction can't be resolved, libbpf
// replaces the instruction with a call of this helper.
const poison = 0xbad2310

// needKernel returns an error if programs can't be loaded here.
var needKernel = sync.OnceValue(func() error {
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SocketFilter, License: "GPL",
		Instructions: asm.Instructions{asm.LoadImm(asm.R0, 0, asm.DWord), asm.Return()}})
	if err == nil {
		program.Close()
	}
	return err
})

// accepts reports whether the kernel's verifier accepts a program. If the verifier refuses the
// program for any reason other than poison, the test fails.
func accepts(t *testing.T, spec *ebpf.ProgramSpec) bool {
	program, err := ebpf.NewProgram(spec)
	if err == nil {
		program.Close()
		return true
	}
	var refused *ebpf.VerifierError
	if !errors.As(err, &refused) ||
		!strings.Contains(strings.Join(refused.Log, "\n"), fmt.Sprint("unknown#", poison)) {
		t.Fatalf("%+v\n%v", err, spec.Instructions)
	}
	return false
}

// outcomes calls a function once for each combination of outcomes of the guards.
func outcomes(guards []question, do func(found map[question]bool)) {
	for bits := range 1 << len(guards) {
		found := map[question]bool{}
		for i, q := range guards {
			found[q] = bits>>i&1 != 0
		}
		do(found)
	}
}

// answer is the answer to a relocation for these outcomes of the guards. The answers to relocations
// that aren't guards, and the sizes of types that were found, are the numbers in the instructions.
func answer(f *bpfobj.Function, at int, found map[question]bool) uint64 {
	switch q := questionOf(f.Relocations[at]); {
	case q.kind.IsGuard() && !found[q]:
		return 0
	case q.kind.IsGuard() && q.kind != core.TypeSize:
		return 1
	}
	return uint64(f.Insns[at].Imm)
}

// holds reports whether a condition holds for these outcomes of the guards.
func holds(a Analysis, c Condition, found map[question]bool) bool {
	value := func(fact int) uint64 {
		return answer(a.Facts[fact].Site.Function, a.Facts[fact].Site.Insn, found)
	}
	return slices.ContainsFunc(c, func(cube []Literal) bool {
		return !slices.ContainsFunc(cube, func(l Literal) bool { return l.Test.Holds(value) != l.Found })
	})
}

// TestVerifier compares conditions with what the running kernel's verifier says, for all outcomes
// of the guards. It loads each program several times, each time with a different relocation
// poisoned.
func TestVerifier(t *testing.T) {
	if err := needKernel(); err != nil {
		t.Skip("SKIPPED: the kernel doesn't load BPF programs here: ", err)
	}
	loads, cautious := 0, 0
	eachProgram(t, func(t *testing.T, p program, path, function string) {
		_, f := open(t, path, function)
		data := must.Get(os.ReadFile(path))(t)
		collection := must.Get(ebpf.LoadCollectionSpecFromReader(bytes.NewReader(data)))(t)
		spec := collection.Programs[function]
		analysis := Analyze(f, nil)
		conditions := analysis.Conditions
		var guards []question
		sites := map[string]Site{}
		for site := range conditions {
			sites[fmt.Sprint(site.Function.Name, "+", site.Insn)] = site
			q := questionOf(site.Function.Relocations[site.Insn])
			if q.kind.IsGuard() && !slices.Contains(guards, q) {
				guards = append(guards, q)
			}
		}
		outcomes(guards, func(found map[question]bool) {
			if !accepts(t, patch(spec, sites, found, Site{})) {
				t.Fatal("the verifier refuses the program without poison")
			}
			for _, site := range slices.Collect(maps.Values(sites)) {
				if questionOf(site.Function.Relocations[site.Insn]).kind.IsGuard() {
					continue
				}
				loads++
				refused := !accepts(t, patch(spec, sites, found, site))
				expected := holds(analysis, conditions[site], found)
				switch {
				case refused == expected:
				case expected && p.cautious:
					cautious++
				default:
					t.Errorf("%s+%d, %v: refused %t, expected %t", site.Function.Name, site.Insn, found,
						refused, expected)
				}
			}
		})
	})
	t.Logf("%d loads; %d sites were not reached although the condition holds", loads, cautious)
}

// patch returns the program after giving guards these outcomes and putting poison at one site.
func patch(spec *ebpf.ProgramSpec, sites map[string]Site, found map[question]bool,
	poisoned Site) *ebpf.ProgramSpec {
	spec = spec.Copy()
	var list asm.Instructions
	var function string
	at := 0
	for _, i := range spec.Instructions {
		if symbol := i.Symbol(); symbol != "" {
			function, at = symbol, 0
		}
		site, ok := sites[fmt.Sprint(function, "+", at)]
		slots := i.Width()
		at += int(slots)
		if !ok {
			list = append(list, i)
			continue
		}
		i = btf.WithCORERelocationMetadata(i, nil)
		q := questionOf(site.Function.Relocations[site.Insn])
		switch {
		case site == poisoned:
			call := asm.BuiltinFunc(poison).Call()
			call.Metadata = i.Metadata
			for range slots {
				list = append(list, call)
				call.Metadata = asm.Metadata{}
			}
			continue
		case q.kind.IsGuard() && !found[q]:
			i.Constant = 0
		}
		list = append(list, i)
	}
	spec.Instructions = list
	return spec
}
