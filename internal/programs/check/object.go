package check

import (
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/programs/needs"
)

// add adds a reason, which may change the verdict.
func (r *Result) add(reason Reason) {
	switch {
	case reason.Fatal:
		r.Verdict = Fails
	case !reason.Unchecked:
		r.Verdict = max(r.Verdict, Partly)
	}
	r.Reasons = append(r.Reasons, reason)
}

// wants is a symbol in words.
func wants(s needs.Symbol) string { return string(s.Kind) + " " + s.Name }

func refused(x needs.Refused) Reason {
	return Reason{Fatal: true, Wants: x.What, Why: x.Why}
}

// objects adds to each result the reasons for which libbpf loads no program of the object file.
// These are reasons of other programs of that file.
// Rule: whole object files that libbpf refuses. The verdict.
func (c *checker) objects(results []Result) {
	type source struct {
		Reason
		program string
	}
	shared := map[int][]source{}
	for i := range c.needs.Programs {
		p := &c.needs.Programs[i]
		for _, reason := range c.ofObject(p) {
			list := shared[p.Object]
			if !slices.ContainsFunc(list, func(s source) bool { return s.Wants == reason.Wants }) {
				shared[p.Object] = append(list, source{reason, p.Name})
			}
		}
	}
	for i := range c.needs.Programs {
		r := &results[i]
		for _, s := range shared[c.needs.Programs[i].Object] {
			at := slices.IndexFunc(r.Reasons, func(own Reason) bool { return own.Wants == s.Wants })
			switch {
			case at < 0 && s.Unchecked, at < 0 && s.program == r.Program:
				r.add(s.Reason)
			case at < 0:
				s.Why += fmt.Sprintf("; %s needs it, and libbpf then loads no program of the object file",
					s.program)
				r.add(s.Reason)
			}
		}
	}
}

// ofObject returns the reasons in a program for which libbpf loads no program of the object file.
func (c *checker) ofObject(p *needs.Program) []Reason {
	var list []Reason
	for _, x := range p.Refused {
		if x.Shared {
			list = append(list, refused(x))
		}
	}
	for _, i := range p.Shared {
		x := p.Relocations[i]
		if a := c.answers[x]; a.Refused != nil {
			list = append(list, Reason{Fatal: true, Wants: c.texts[x], Why: a.Refused.Error()})
		}
	}
	for _, s := range p.Symbols {
		if !s.OfObject() {
			continue
		}
		if why := unchecked[s.Kind]; why != "" {
			list = append(list, Reason{Unchecked: true, Wants: wants(s), Why: why})
		} else if why, fatal := c.symbol(p, s); fatal && why != "" {
			list = append(list, Reason{Fatal: true, Wants: wants(s), Why: why})
		}
	}
	return list
}

// unchecked has, for symbols that BTF doesn't show, what happens if the kernel lacks them.
var unchecked = map[needs.SymbolKind]string{
	needs.Kconfig: "BTF doesn't show the kernel's configuration; without this value, libbpf loads " +
		"no program of the object file",
	needs.Address: "BTF doesn't show all symbols; without this one, libbpf loads no program of the " +
		"object file",
}

// elsewhere says where the kernel has a hook that libbpf looks for in one module.
func (c *checker) elsewhere(s needs.Symbol) string {
	place := func(module string) string {
		if module == "vmlinux" {
			return module
		}
		return "the module " + module
	}
	what := describe[s.Kind.BTFKind()] + s.BTFName()
	if list := c.kernel.Find(s.BTFName(), s.Kind.BTFKind()); len(list) > 0 {
		return fmt.Sprintf("%s is in %s, not in %s", what, place(c.kernel.ModuleOf(list[0])),
			place(s.Module()))
	}
	return fmt.Sprintf("the kernel has no %s, neither in %s nor elsewhere", what, place(s.Module()))
}
