package clitest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/rules-btf/rules_btf/internal/command/cli"
)

// usage is a program that is called in wrong ways.
type usage struct {
	*testing.T
	program func() *cli.Program
}

// refused wants a call to end with exit code 2 and one line that has a text and a hint at --help,
// and that speaks of no package of Go.
func (u usage) refused(text, see string, args ...string) {
	u.Helper()
	var stdout, stderr bytes.Buffer
	p := u.program()
	p.Stdout, p.Stderr = &stdout, &stderr
	code, line := p.Run(args), stderr.String()
	if code != 2 || stdout.Len() > 0 || strings.Count(line, "\n") != 1 ||
		!strings.HasPrefix(line, p.Name+": ") || !strings.Contains(line, text) ||
		!strings.HasSuffix(line, fmt.Sprintf(" (see %s --help)\n", see)) {
		u.Errorf("%q: exit code %d, want 2 and a line with %q\n%s%s", args, code, text, &stdout, line)
	}
	for _, word := range []string{"strconv", "pflag", "parsing", "invalid", "flag:"} {
		if strings.Contains(line, word) {
			u.Errorf("%q: the word %q\n%s", args, word, line)
		}
	}
}

// Usage calls every verb of a program with every flag in wrong ways.
func Usage(t *testing.T, program func() *cli.Program) {
	name := program().Name
	u := usage{t, program}
	var verbs []string
	for _, v := range program().Verbs {
		verbs = append(verbs, v.Name)
	}
	if known := cli.VerbsOf(name); !slices.Equal(known, verbs) {
		t.Errorf("the verbs are %q, and cli takes them to be %q", verbs, known)
	}
	u.refused("VERB is missing", name)
	u.refused("unknown flag --versoin; did you mean --version?", name, "--versoin")
	for _, other := range []string{"btfdedup", "btfgen", "btfrepro"} {
		for _, verb := range cli.VerbsOf(other) {
			if !slices.Contains(verbs, verb) {
				u.refused("; that is a verb of ", name, verb)
				u.refused(other, name, verb)
			}
		}
	}
	u.refused(`unknown verb "?"`, name, "?")
	u.refused("write "+name+" VERB -j4", name, "-j4", program().Verbs[0].Name)
	for _, v := range program().Verbs {
		u.refused("; did you mean "+v.Name+"?", name, v.Name+"x")
		t.Run(v.Name, func(t *testing.T) {
			u := usage{t, program}
			see, args := name+" "+v.Name, strings.Fields(v.Args)
			u.refused("unknown flag --no-such-flag", see, v.Name, "--no-such-flag")
			u.refused("unknown flag -?", see, v.Name, "-?")
			u.refused(`"--=" is not a flag`, see, v.Name, "--=")
			if !strings.HasPrefix(v.Args, "[") {
				u.refused(args[0]+" is missing", see, v.Name)
			}
			if !strings.Contains(v.Args, "...") {
				u.refused("too many arguments: it takes "+v.Args, see,
					append(append([]string{v.Name}, args...), "more")...)
			}
			v.NewFlags().VisitAll(func(f *pflag.Flag) { u.flag(v.Name, see, f, v.NewFlags()) })
		})
	}
}

// flag gives a flag no value, wrong values and other names.
func (u usage) flag(verb, see string, f *pflag.Flag, all *pflag.FlagSet) {
	name := "--" + f.Name
	shown := name
	if f.Shorthand != "" {
		shown = "-" + f.Shorthand
	}
	if near := f.Name[:len(f.Name)-1]; len(near) > 1 && all.Lookup(near) == nil {
		u.refused("unknown flag --"+near+"; did you mean --", see, verb, "--"+near)
	}
	if f.NoOptDefVal == "" {
		u.refused(shown+" ", see, verb, name)
		u.refused(" is missing", see, verb, "--"+strings.ReplaceAll(f.Name, "-", "_"))
	}
	var wrong []string
	switch kind := fmt.Sprintf("%T", f.Value); {
	case f.Value.Type() == "bool":
		wrong = []string{"maybe", "2", ""}
	case kind == "*cli.number":
		wrong = []string{"x", "", "1.5", "-1", "1e1", "0x10", "99999999999999999999"}
	case slices.Contains([]string{"int", "int64", "uint", "uint32", "uint64"}, f.Value.Type()):
		wrong = []string{"x", "", "1.5", "99999999999999999999"}
	case slices.Contains([]string{"*pflag.stringValue", "*pflag.stringArrayValue",
		"*pflag.stringSliceValue"}, kind):
		return // any text
	default:
		wrong = []string{"?!/ "}
	}
	for _, value := range wrong {
		u.refused(fmt.Sprintf("%s: %q", shown, value), see, verb, name+"="+value)
		u.refused(fmt.Sprintf("%s: %q", shown, value), see, verb,
			"--"+strings.ReplaceAll(f.Name, "-", "_")+"="+value)
	}
}
