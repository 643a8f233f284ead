package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"
)

// help prints the program's help text.
func (p *Program) help(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\nUsage:\n  %s VERB [flags] [arguments]\n  %s VERB --help\n\nVerbs:\n",
		p.Summary, p.Name, p.Name)
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, v := range p.Verbs {
		fmt.Fprintf(table, "  %s\t%s\n", v.Name, v.Summary)
	}
	fmt.Fprintf(table, "  help\tprint this text, or that of a verb: help VERB\n")
	fmt.Fprintf(table, "  version\tprint the version\n")
	table.Flush()
	b.WriteString("\nFlags:\n  -h, --help     print this text\n      --version  print the version\n")
	b.WriteString("\nAn argument @FILE stands for the lines of FILE, one argument a line.\n")
	b.WriteString("As a file to read - is standard input, as a file to write standard output.\n")
	b.WriteString("Exit codes: 0 success, 1 bad input or the answer \"no\", 2 wrong usage.\n")
	examples(&b, p.firstExamples())
	_, err := b.WriteTo(w)
	return err
}

// firstExamples is the first example of each verb, with its explanation.
func (p *Program) firstExamples() []string {
	var out []string
	for _, v := range p.Verbs {
		for _, e := range v.Examples {
			out = append(out, e)
			if !strings.HasPrefix(e, "#") {
				break
			}
		}
	}
	return out
}

// verbHelp prints a verb's help text.
func (p *Program) verbHelp(w io.Writer, v *Verb, fs *pflag.FlagSet) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s: %s\n\nUsage:\n  %s %s [flags] %s\n", p.Name, v.Name, v.Summary, p.Name,
		v.Name, v.Args)
	if v.Long != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(v.Long))
	}
	fmt.Fprintf(&b, "\n%s\n", v.aboutStdin())
	fmt.Fprintf(&b, "\nFlags:\n%s", fs.FlagUsagesWrapped(100))
	examples(&b, v.Examples)
	_, err := b.WriteTo(w)
	return err
}

// aboutStdin says what - means as the name of a file.
func (v *Verb) aboutStdin() string {
	if v.NoStdin != "" {
		return "An argument - is not standard input: " + v.NoStdin + "."
	}
	if v.Flags&Output == 0 {
		return "An input - is standard input."
	}
	return "An input - is standard input, an output - standard output."
}

func examples(b *bytes.Buffer, lines []string) {
	if len(lines) == 0 {
		return
	}
	b.WriteString("\nExamples:\n")
	for _, l := range lines {
		fmt.Fprintf(b, "  %s\n", l)
	}
}
