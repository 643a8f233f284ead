package cli

import (
	"slices"
	"strings"
)

// siblings are the programs of this project that have verbs, and the verbs of each, in order.
var siblings = []struct {
	program string
	verbs   []string
}{
	{"btfdedup", []string{"merge", "link", "modules", "shared", "index", "import", "embed",
		"resolve-ids", "relocate", "verify", "diff", "conflicts", "archive", "report", "dump", "stats",
		"extract"}},
	{"btfgen", []string{"elf", "object", "facts"}},
	{"btfrepro", []string{"diff", "run"}},
}

// VerbsOf returns the verbs that the other programs take a program to have, nil if they don't know
// it.
func VerbsOf(program string) []string {
	for _, s := range siblings {
		if s.program == program {
			return s.verbs
		}
	}
	return nil
}

// unknownVerb is the usage error for a first argument that is no verb.
func (p *Program) unknownVerb(arg string) error {
	if strings.HasPrefix(arg, "-") {
		if hint := p.flagHint(arg); hint != "" {
			return Usagef("unknown flag %s%s (see %s --help)", arg, hint, p.Name)
		}
		return Usagef("the flag %s is before the verb; write %s VERB %[1]s (see %[2]s --help)", arg,
			p.Name)
	}
	var others []string
	for _, s := range siblings {
		if VerbsOf(p.Name) != nil && slices.Contains(s.verbs, arg) {
			others = append(others, s.program)
		}
	}
	hint := DidYouMean(arg, append(p.verbNames(), "help", "version"))
	if others != nil {
		hint = "; that is a verb of " + strings.Join(others, " and ")
	}
	return Usagef("unknown verb %q%s (see %s --help)", arg, hint, p.Name)
}

// flagHint is a hint at the flag that may stand before the verb and may have been meant; "" if it
// is none of these, or if it is a flag of a verb.
func (p *Program) flagHint(arg string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	if len(name) < 2 {
		return ""
	}
	for i := range p.Verbs {
		if name != "help" && p.Verbs[i].NewFlags().Lookup(name) != nil {
			return ""
		}
	}
	return DidYouMean("--"+strings.ReplaceAll(name, "_", "-"), []string{"--help", "--version"})
}
