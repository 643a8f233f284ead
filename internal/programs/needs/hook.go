package needs

import (
	"slices"
	"strings"
)

// hooks has those program sections from section_defs in libbpf.c whose names contain the name of
// something in the kernel. Variants such as fentry.s and kprobe.multi are left out.
var hooks = map[string]SymbolKind{
	"fentry": Function, "fexit": Function, "fmod_ret": Function, "fsession": Function,
	"lsm": LSMHook, "lsm_cgroup": LSMHook, "tp_btf": RawTP, "iter": Iterator,
	"kprobe": Probe, "kretprobe": Probe, "tracepoint": Tracepoint, "tp": Tracepoint,
}

// hookOf returns the symbol in the kernel that a program's section names. It returns false if the
// section names none, has a pattern with * or ?, or leaves the name to the loader. Unlike types,
// hooks have no flavors. The name may be MODULE:NAME.
func hookOf(section string) (Symbol, bool) {
	section = strings.TrimPrefix(section, "?") // not loaded unless the loader requests it
	name, target, ok := strings.Cut(section, "/")
	if !ok || target == "" || strings.ContainsAny(target, "*?") {
		return Symbol{}, false
	}
	name, variant, _ := strings.Cut(name, ".")
	if !slices.Contains([]string{"", "s"}, variant) {
		return Symbol{}, false
	}
	kind, known := hooks[name]
	if !known {
		return Symbol{}, false
	}
	if kind == Probe {
		target, _, _ = strings.Cut(target, "+") // function+offset
	}
	return Symbol{Kind: kind, Name: target}, target != ""
}
