package doccheck

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var (
	public = regexp.MustCompile("(?s)\n## What is public\n.*?\nEverything else")
	action = regexp.MustCompile("(?m)^\\| `([A-Z]\\w+)` \\| `btf")
	helped = regexp.MustCompile("`(\\w+) --help`")
)

// wrongPublic compares two lists of public names with the code: the mnemonics in a table of the
// rules and in COMPATIBILITY.md, and the programs with verbs in COMPATIBILITY.md.
func (r *repository) wrongPublic() (found []string) {
	compare := func(what string, listed *regexp.Regexp, text string, want set) {
		names := set{}
		for _, m := range listed.FindAllStringSubmatch(text, -1) {
			names[strings.Join(m[1:], "")] = true
		}
		if !maps.Equal(names, want) {
			found = append(found, fmt.Sprintf("COMPATIBILITY.md and docs/rules.md list the %s %q, want %q",
				what, slices.Sorted(maps.Keys(names)), slices.Sorted(maps.Keys(want))))
		}
	}
	text := public.FindString(r.pages["COMPATIBILITY.md"])
	compare("mnemonics", action, r.pages["docs/rules.md"]+text, r.actions)
	programs := set{}
	for name := range r.flags {
		if program, verb, _ := strings.Cut(name, " "); verb != "" && verb != "--help" {
			programs[program] = true
		}
	}
	compare("programs", helped, text, programs)
	return found
}
