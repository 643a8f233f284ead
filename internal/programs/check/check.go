// Package check finds out whether BPF programs load on a kernel, as far as the kernel's BTF shows.
// It determines what libbpf finds for each relocation and symbol, and whether the verifier reaches
// an instruction that needs something that the kernel lacks.
//
// A kernel may refuse a program for other reasons: its version of the verifier, helpers, a kprobe's
// function, or the configuration. These aren't in BTF.
package check

import (
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
)

// Verdict says whether a program loads.
type Verdict uint8

// The verdicts.
const (
	// Loads: the program loads, and the kernel has everything that the program refers to.
	Loads Verdict = iota
	// Partly: the program loads, but the kernel lacks something that the program tests for, or uses
	// only for some settings.
	Partly
	// Fails: the program doesn't load.
	Fails
)

// String is the verdict as a word.
func (v Verdict) String() string { return [...]string{"loads", "partly", "fails"}[v] }

// MarshalText returns the same as String, for JSON.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Result is the verdict on one program.
type Result struct {
	Program string   `json:"program"`
	Section string   `json:"section"`
	Verdict Verdict  `json:"verdict"`
	Reasons []Reason `json:"reasons,omitempty"`
}

// Reason is one thing that the kernel lacks, or may lack.
type Reason struct {
	Fatal bool `json:"fatal"`
	// Unchecked says that BTF doesn't show whether the kernel lacks it.
	Unchecked bool `json:"unchecked,omitempty"`
	// Wants is what the program needs, such as "byte_off struct sock.sk_protocol".
	Wants string `json:"wants"`
	// Why says what the kernel has instead, such as "struct sock has no field sk_protocol".
	Why string `json:"why"`
}

// Kernel returns the verdict on each program, in the order of n.Programs. If two object files have
// a program with the same name and the same verdict, it is listed once. The index must
// have needs.Names(n).
func Kernel(k *core.Index, n *needs.Needs) ([]Result, error) {
	c := checker{k, n, map[core.Relocation]core.Answer{}, map[core.Relocation]string{}}
	var results []Result
	for i := range n.Programs {
		r, err := c.program(&n.Programs[i])
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	c.objects(results)
	return slices.CompactFunc(results, func(a, b Result) bool {
		return a.Program == b.Program && a.Section == b.Section && a.Verdict == b.Verdict &&
			slices.Equal(a.Reasons, b.Reasons)
	}), nil
}

// checker holds the state of checking programs on one kernel.
type checker struct {
	kernel  *core.Index
	needs   *needs.Needs
	answers map[core.Relocation]core.Answer
	texts   map[core.Relocation]string
}

// program returns the verdict on a program. A relocation is fatal if libbpf refuses it. If it finds
// nothing, it is also fatal if libbpf makes its instruction invalid and the program certainly
// reaches this instruction on this kernel (CertainlyReached): neither a guard such as
// bpf_core_field_exists nor a value in .rodata or .kconfig prevents that. A missing symbol is fatal
// unless it is the struct of a kptr, or is weak and the program doesn't certainly reach an
// instruction that needs the symbol; for symbols that have a different type in the kernel, see the
// method checker.symbol. If anything else is missing, the verdict is Partly.
// Rule: btfcore check: verdict on a program. Source: relo_core.c bpf_core_patch_insn;
// kernel/bpf/verifier.c is_branch_taken.
func (c *checker) program(p *needs.Program) (Result, error) {
	r := Result{Program: p.Name, Section: p.Section}
	add := r.add
	for _, x := range p.Refused {
		add(refused(x))
	}
	value := func(fact int) uint64 {
		if i := fact - len(p.Relocations); i >= 0 {
			if why, _ := c.symbol(p, p.Symbols[i]); why != "" {
				return 0
			}
			return 1
		}
		return c.answers[p.Relocations[fact]].Value
	}
	// reached adds to why, the message about a relocation or symbol, if its instruction is reached
	// only for some settings.
	reached := func(fact int, why *string) (certainly bool) {
		certainly = p.CertainlyReached(fact, value)
		if !certainly && p.Reached(fact, value) {
			*why += "; used only for some settings (.rodata, .kconfig, symbols that " +
				"aren't in BTF, the kernel's version)"
		}
		return certainly
	}
	for _, x := range p.Relocations {
		if err := c.resolve(x); err != nil {
			return r, err
		}
	}
	for i, x := range p.Relocations {
		a := c.answers[x]
		switch {
		case a.Refused != nil:
			add(Reason{Fatal: true, Wants: c.texts[x], Why: a.Refused.Error()})
		case a.Missing != "":
			why := a.Missing
			fatal := a.Poison && reached(i, &why)
			add(Reason{Fatal: fatal, Wants: c.texts[x], Why: why})
		}
	}
	for i, s := range p.Symbols {
		if why, fatal := c.symbol(p, s); why != "" {
			fatal = fatal || s.Weak && reached(len(p.Relocations)+i, &why)
			add(Reason{Fatal: fatal, Wants: wants(s), Why: why})
		}
	}
	return r, nil
}

func (c *checker) resolve(x core.Relocation) error {
	if _, ok := c.answers[x]; ok {
		return nil
	}
	local, err := core.Parse(c.needs.Local, x)
	if err != nil {
		return err
	}
	c.answers[x] = c.kernel.Resolve(local, x.Memory)
	c.texts[x] = fmt.Sprintf("%v %s", x.Kind, local)
	return nil
}

// symbol returns what is wrong with a symbol, and whether this prevents the program from loading.
// It returns "" if nothing is wrong, or if BTF can't show what is wrong.
// Rule: btfcore check: verdict on a symbol.
func (c *checker) symbol(p *needs.Program, s needs.Symbol) (why string, fatal bool) {
	switch {
	case !s.Kind.InBTF():
		return "", false
	case s.Kind == needs.StructOps, s.Kind == needs.Member:
		return c.structOps(s), true
	}
	found := s.Find(c.kernel)
	switch {
	case len(found) == 0 && s.Kind == needs.Kptr:
		// See btf_parse_kptr since Linux 6.4. Earlier kernels refuse the map.
		return fmt.Sprintf("the kernel has no struct %s, so it assumes that the type is the "+
			"program's own", s.Name), false
	case len(found) == 0 && s.Module() != "":
		return c.elsewhere(s), true
	case len(found) == 0:
		return fmt.Sprintf("the kernel has no %s", describe[s.Kind.BTFKind()]+s.BTFName()), !s.Weak
	case s.Type == 0:
		return c.arguments(p, s, found[0]), true
	}
	// bpf_object__resolve_ksym_func_btf_id and resolve_ksym_var_btf_id
	own, target := s.Type, found[0].ID
	if t, _ := found[0].BTF.ByID(target); t.Kind == btf.KindFunc || t.Kind == btf.KindVar {
		target = t.SizeOrType
	}
	if t, _ := c.needs.Local.ByID(own); t.Kind == btf.KindFunc {
		own = t.SizeOrType
	}
	target, _, _ = found[0].BTF.Skip(target)
	own, _, _ = c.needs.Local.Skip(own)
	if !c.kernel.Compatible(c.needs.Local, own, found[0].BTF, target) {
		return "the program and the kernel declare it with different parameters or types",
			!s.Weak || s.Kind == needs.Variable
	}
	return "", false
}

// describe has the word before a name in messages, by kind.
var describe = map[btf.Kind]string{btf.KindFunc: "function ", btf.KindTypedef: "typedef ",
	btf.KindStruct: "struct ", btf.KindVar: "variable "}
