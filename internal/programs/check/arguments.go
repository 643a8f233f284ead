package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// arguments compares the number of arguments that a program reads with the number that its hook
// has, as btf_ctx_access does. It returns "", or a message if the program reads too many.
// Rule: btfcore check: number of arguments that a program reads. Source: kernel btf_ctx_access,
// get_ctx_arg_idx.
func (c *checker) arguments(p *needs.Program, s needs.Symbol, hook core.Found) string {
	t, _ := hook.BTF.ByID(hook.ID)
	switch t.Kind {
	case btf.KindTypedef: // of a pointer to a function, whose first parameter isn't passed
		_, t, _ = hook.BTF.Skip(hook.ID)
		if t == nil || t.Kind != btf.KindPtr {
			return ""
		}
		return c.slots(s, hook.BTF, t.SizeOrType, -1, false)
	case btf.KindFunc:
		return c.slots(s, hook.BTF, t.SizeOrType, 0, hasResult(p.Section))
	}
	return ""
}

// slots does the work of the method arguments, given the prototype of a hook. The parameter more
// says how many arguments the kernel passes in addition to those in the prototype; it may be -1. If
// result is set, the kernel also passes the function's result.
func (c *checker) slots(s needs.Symbol, in *core.BTF, proto uint32, more int, result bool) string {
	_, t, of := in.Skip(proto)
	if s.Args == 0 || t == nil || t.Kind != btf.KindFuncProto {
		return ""
	}
	n := more
	for _, p := range of.ParamsOf(t) {
		n += slotsOf(in, p.Type)
	}
	if result {
		n += slotsOf(in, t.SizeOrType)
	}
	if s.Args <= n {
		return ""
	}
	return fmt.Sprintf("the program reads %s, but the kernel passes %d (each 8 bytes count as one)",
		message.Count(s.Args, "argument"), n)
}

// slotsOf returns how many slots of 8 bytes an argument takes: see get_ctx_arg_idx.
func slotsOf(in *core.BTF, id uint32) int {
	if _, t, _ := in.Skip(id); t == nil {
		return 0
	}
	size, err := in.SizeOf(id)
	if err != nil {
		return 1
	}
	return int((size + 7) / 8)
}

// hasResult reports whether the programs in a section can read the result of the function that they
// hook.
func hasResult(section string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(section, "?"), "/")
	name, _, _ = strings.Cut(name, ".")
	return slices.Contains([]string{"fexit", "fmod_ret", "fsession", "lsm", "lsm_cgroup"}, name)
}
