package needs

import (
	"cmp"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/programs/core"
)

// Symbol is a function, variable or type that a program names.
type Symbol struct {
	Kind SymbolKind
	Name string // for kfuncs, without a flavor; for a hook in a section MODULE:NAME, with the module
	// Weak says that the program may be loaded without the symbol.
	Weak bool
	// Type is the id in Needs.Local of the type with which the program declares the symbol, or 0 if
	// there is none.
	Type uint32
	// Args says that the program reads at least this many arguments of its hook, in slots of 8 bytes.
	// The function's result counts as the argument after the last one.
	Args int
}

// SymbolKind says what a symbol is, and what the program uses it for.
type SymbolKind string

// The kinds of symbols.
const (
	Function   SymbolKind = "function"   // the target of fentry, fexit or fmod_ret
	LSMHook    SymbolKind = "lsm"        // the function bpf_lsm_NAME
	RawTP      SymbolKind = "tp_btf"     // the typedef btf_trace_NAME
	Iterator   SymbolKind = "iter"       // the function bpf_iter_NAME
	StructOps  SymbolKind = "struct_ops" // the structs NAME and bpf_struct_ops_NAME
	Member     SymbolKind = "member"     // STRUCT.MEMBER of a struct_ops map
	Kptr       SymbolKind = "kptr"       // the struct NAME, to which a map has pointers
	Kfunc      SymbolKind = "kfunc"      // a function that the program calls
	Variable   SymbolKind = "ksym"       // a variable that the program reads, with its type
	Address    SymbolKind = "address"    // a symbol in kallsyms
	Probe      SymbolKind = "kprobe"     // a symbol in kallsyms, the target of kprobe or kretprobe
	Tracepoint SymbolKind = "tracepoint" // CATEGORY/NAME in tracefs
	Kconfig    SymbolKind = "kconfig"    // a value of the kernel's configuration
)

var symbolKinds = []SymbolKind{Function, LSMHook, RawTP, Iterator, StructOps, Member, Kptr,
	Kfunc, Variable, Address, Probe, Tracepoint, Kconfig}

// InBTF reports whether the kernel's BTF has symbols of this kind.
func (k SymbolKind) InBTF() bool {
	switch k {
	case Address, Probe, Tracepoint, Kconfig:
		return false
	}
	return true
}

// hasArgs reports whether programs with such a hook get the arguments of a function or tracepoint.
func (k SymbolKind) hasArgs() bool {
	return k == Function || k == LSMHook || k == RawTP || k == Member
}

func compareSymbols(a, b Symbol) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Type, b.Type), compareBools(a.Weak, b.Weak), cmp.Compare(a.Args, b.Args))
}

// Names returns the names, without flavors, of everything in the kernel's BTF to which relocations
// and symbols refer.
func Names(list ...*Needs) map[string]bool {
	names := map[string]bool{}
	for _, n := range list {
		for _, p := range n.Programs {
			for _, r := range p.Relocations {
				t, _ := n.Local.ByID(r.Type)
				names[core.Essential(n.Local.TypeName(t))] = true
			}
			for _, s := range p.Symbols {
				if s.Kind.InBTF() {
					names[s.BTFName()] = true
				}
				if s.Kind == StructOps || s.Kind == Member {
					names[core.StructOpsValue(s.BTFName())] = true
				}
			}
		}
	}
	return names
}

// BTFName is the name of the symbol's function, variable or type in the kernel's BTF.
func (s Symbol) BTFName() string {
	if s.Kind == Member {
		name, _, _ := strings.Cut(s.Name, ".")
		return name
	}
	prefix := map[SymbolKind]string{LSMHook: "bpf_lsm_", RawTP: "btf_trace_", Iterator: "bpf_iter_"}
	_, name := s.cutModule()
	return prefix[s.Kind] + name
}

// Module is the module in which libbpf looks for a hook, "vmlinux" for the kernel itself, or "" for
// the kernel and all modules.
func (s Symbol) Module() string {
	module, _ := s.cutModule()
	return module
}

// Find returns the functions or types of a kernel that the symbol names.
func (s Symbol) Find(k *core.Index) []core.Found {
	if module, name := s.cutModule(); name != s.Name {
		return k.FindIn(module, s.BTFName(), s.Kind.BTFKind())
	}
	return k.Find(s.BTFName(), s.Kind.BTFKind())
}

// cutModule divides the name of a hook at the first colon, as find_kernel_btf_id does.
// Rule: module in a section name (fentry/MODULE:FUNC). Source: libbpf.c find_kernel_btf_id.
func (s Symbol) cutModule() (module, name string) {
	if module, name, ok := strings.Cut(s.Name, ":"); ok && s.Kind.mayHaveModule() {
		return module, name
	}
	return "", s.Name
}

// mayHaveModule reports whether programs of this kind may name a module in their section.
func (k SymbolKind) mayHaveModule() bool {
	return k == Function || k == LSMHook || k == RawTP || k == Iterator
}

// BTFKind is the kind of the symbol's function, variable or type in the kernel's BTF.
func (k SymbolKind) BTFKind() btf.Kind {
	switch k {
	case RawTP:
		return btf.KindTypedef
	case StructOps, Member, Kptr:
		return btf.KindStruct
	case Variable:
		return btf.KindVar
	}
	return btf.KindFunc
}
