package needs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rules-btf/rules_btf/internal/programs/core"
)

// libbpf decides some things for a whole object file, whichever of its programs the loader wants
// (bpf_object_prepare): all external symbols must be resolved, and all relocations of the functions
// in .text, which belong to no program. If one of them fails, none of the programs is loaded.

// Refused is a relocation or symbol that libbpf refuses for every kernel.
type Refused struct {
	core.Refusal
	// Shared says that libbpf then refuses the whole object file.
	Shared bool
}

func compareRefused(a, b Refused) int {
	return cmp.Or(cmp.Compare(a.What, b.What), cmp.Compare(a.Why, b.Why),
		compareBools(a.Shared, b.Shared))
}

// OfObject reports whether libbpf loads no program of the object file if it doesn't find the symbol
// or refuses the symbol's type: see bpf_object__resolve_externs.
// Rule: whole object files that libbpf refuses. Source: libbpf.c bpf_object_prepare,
// bpf_object__resolve_externs, bpf_object__relocate_core.
func (s Symbol) OfObject() bool {
	switch s.Kind {
	case Kfunc, Address, Kconfig:
		return !s.Weak
	case Variable:
		return true // a weak one may be missing, but must not have another type
	}
	return false
}

// virtual are the symbols in .kconfig whose values libbpf finds out itself.
var virtual = []string{"LINUX_KERNEL_VERSION", "LINUX_HAS_BPF_COOKIE", "LINUX_HAS_SYSCALL_WRAPPER"}

// addKconfig adds a symbol in .kconfig. A weak symbol that the kernel lacks is 0.
func (a *asked) addKconfig(name string, weak bool) {
	switch {
	case strings.HasPrefix(name, "CONFIG_"):
		if !weak {
			a.addSymbol(Symbol{Kind: Kconfig, Name: name}, nil)
		}
	case !slices.Contains(virtual, name) && (!weak || !strings.HasPrefix(name, "LINUX_")):
		a.refused[Refused{core.Refusal{What: "kconfig " + name, Why: "libbpf knows only CONFIG_ " +
			"values, " + strings.Join(virtual, ", ")}, true}] = true
	}
}

func sharedLine(list []int) string {
	return "shared " + strings.Trim(fmt.Sprint(list), "[]")
}

func refusedLine(r Refused) string {
	return fmt.Sprintf("refused %s %q %q", r.scope(), r.What, r.Why)
}

// scope says what libbpf doesn't load.
func (r Refused) scope() string {
	if r.Shared {
		return "object"
	}
	return "program"
}

// objectLine reads a line that begins with the given word, "shared" or "refused".
func (p *Program) objectLine(word, line string) error {
	if word == "refused" {
		var r Refused
		var scope string
		_, err := fmt.Sscanf(line, "refused %s %q %q", &scope, &r.What, &r.Why)
		if r.Shared = scope == "object"; err != nil || line != refusedLine(r) {
			return errors.New("malformed refused")
		}
		p.Refused = append(p.Refused, r)
		return nil
	}
	for _, text := range strings.Fields(line)[1:] {
		i, err := strconv.Atoi(text)
		if err != nil || i < 0 || i >= len(p.Relocations) {
			return fmt.Errorf("%q is not one of %d relocations", text, len(p.Relocations))
		}
		p.Shared = append(p.Shared, i)
	}
	if line != sharedLine(p.Shared) || len(p.Shared) == 0 {
		return errors.New("malformed shared")
	}
	return nil
}

// numbered returns the programs of all object files, sorted, with the numbers of their files. The
// numbers follow the files' content. Files with the same needs have one number, as do all files in
// which no program depends on the others.
func numbered(objects [][]Program) []Program {
	compare := func(a, b Program) int { return a.compare(&b) }
	equal := func(a, b Program) bool { return a.compare(&b) == 0 }
	var independent []Program
	var list [][]Program
	for _, programs := range objects {
		if slices.ContainsFunc(programs, Program.sharing) {
			list = append(list, programs)
		} else {
			independent = append(independent, programs...)
		}
	}
	if independent != nil {
		list = append(list, independent)
	}
	for i := range list {
		slices.SortFunc(list[i], compare)
		list[i] = slices.CompactFunc(list[i], equal)
	}
	slices.SortFunc(list, func(a, b []Program) int { return slices.CompareFunc(a, b, compare) })
	list = slices.CompactFunc(list, func(a, b []Program) bool { return slices.EqualFunc(a, b, equal) })
	var all []Program
	for i, programs := range list {
		for _, p := range programs {
			p.Object = i
			all = append(all, p)
		}
	}
	slices.SortFunc(all, compare)
	return all
}

// sharing reports whether the whole object file depends on what the program needs.
func (p Program) sharing() bool {
	return len(p.Shared) > 0 || slices.ContainsFunc(p.Symbols, Symbol.OfObject) ||
		slices.ContainsFunc(p.Refused, func(r Refused) bool { return r.Shared })
}
