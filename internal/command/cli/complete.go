package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

// completeWord is what shells call a program by to complete a command line: the words after it are
// those of the line, the last one is to be completed. The scripts for shells, and so the form of
// the answer, are those of the package github.com/spf13/cobra: a candidate a line, a tab and what
// it means, and at last a colon and a number.
const completeWord = "__complete"

// The numbers are sums of these.
const (
	completeFiles   = 0 // names of files, if there is no candidate
	completeNoSpace = 2 // more of the word may follow
	completeNothing = 4 // candidates only
)

// Chooser is a flag's value that is one of a few words, or a list of them.
type Chooser interface {
	// Choices are the words; list says whether several may be given, separated by commas.
	Choices() (words []string, list bool)
}

// candidates are what may be put for a word.
type candidates struct {
	word  string
	lines []string
	then  int
}

// add adds a candidate, if it begins as the word does.
func (c *candidates) add(candidate, means string) {
	if strings.HasPrefix(candidate, c.word) {
		means, _, _ = strings.Cut(means, "\n")
		c.lines = append(c.lines, candidate+"\t"+means)
	}
}

// complete prints what may be put for the last of the words.
func (p *Program) complete(w io.Writer, words []string) error {
	if len(words) == 0 {
		words = []string{""}
	}
	last := len(words) - 1
	c := &candidates{word: words[last]}
	switch {
	case last == 0 || last == 1 && words[0] == "help":
		p.completeVerb(c, last == 0)
	default:
		for i := range p.Verbs {
			if v := &p.Verbs[i]; v.Name == words[0] {
				v.complete(c, words[1:last])
			}
		}
	}
	for _, line := range c.lines {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, ":%d\n", c.then)
	return err
}

// completeVerb has the verbs, and what else may be the first word.
func (p *Program) completeVerb(c *candidates, first bool) {
	c.then = completeNothing
	for i := range p.Verbs {
		c.add(p.Verbs[i].Name, p.Verbs[i].Summary)
	}
	if first {
		c.add("help", "print a help text")
		c.add("version", "print the version")
	}
	if first && strings.HasPrefix(c.word, "-") {
		c.add("--help", "print a help text")
		c.add("--version", "print the version")
	}
}

// complete has the flags of the verb, or the values of one. before are the words between the verb
// and the one to complete.
func (v *Verb) complete(c *candidates, before []string) {
	flags := v.NewFlags()
	name, value, hasValue := strings.Cut(c.word, "=")
	switch {
	case len(before) > 0 && needsValue(flags, before[len(before)-1]):
		completeValue(c, flagTyped(flags, before[len(before)-1]))
	case hasValue && flagTyped(flags, name) != nil:
		c.word = value // the scripts put the flag before the candidates
		completeValue(c, flagTyped(flags, name))
	case strings.HasPrefix(c.word, "-") && c.word != "-":
		c.then = completeNothing
		flags.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				_, usage := pflag.UnquoteUsage(f)
				c.add("--"+f.Name, usage)
			}
		})
	}
}

// flagTyped is the flag that is spelled so on a command line, without a value; nil if there is
// none.
func flagTyped(flags *pflag.FlagSet, typed string) *pflag.Flag {
	if name, ok := strings.CutPrefix(typed, "--"); ok {
		return flags.Lookup(name)
	}
	if short, ok := strings.CutPrefix(typed, "-"); ok && len(short) == 1 {
		return flags.ShorthandLookup(short)
	}
	return nil
}

// needsValue reports whether a word is a flag whose value is the next word.
func needsValue(flags *pflag.FlagSet, typed string) bool {
	f := flagTyped(flags, typed)
	return f != nil && f.NoOptDefVal == ""
}

// completeValue has the values of a flag. Text is taken for the name of a file.
func completeValue(c *candidates, f *pflag.Flag) {
	chooser, ok := f.Value.(Chooser)
	switch {
	case f.Value.Type() == "bool":
		c.then = completeNothing
		c.add("true", "")
		c.add("false", "")
	case f.Value.Type() == "int":
		c.then = completeNothing
	case ok:
		c.then = completeNothing
		words, list := chooser.Choices()
		before := ""
		if list {
			item := c.word[strings.LastIndexByte(c.word, ',')+1:]
			name := strings.TrimPrefix(strings.TrimPrefix(item, "+"), "-") // signs are of features
			before = c.word[:len(c.word)-len(name)]
		}
		for _, word := range words {
			c.add(before+word, "")
		}
		if list {
			c.then |= completeNoSpace
		}
	}
}
