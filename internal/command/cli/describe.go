package cli

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rules-btf/rules_btf/internal/command/version"
)

// describeWord makes a program print its Description as JSON, for programs that write texts about
// it.
const describeWord = "__describe"

// Description is what there is to know of a program's command line.
type Description struct {
	Name, Summary, Version string
	Verbs                  []VerbDescription
}

// VerbDescription is what there is to know of a verb.
type VerbDescription struct {
	Name, Summary, Args, Long string
	Examples                  []string // as of Verb
	Flags                     []FlagDescription
}

// FlagDescription is what there is to know of a flag.
type FlagDescription struct {
	Name, Short string // without dashes; Short may be ""
	Value       string // what the value is called; "" for a flag that needs none
	Usage       string
	Default     string // "" if there is none
}

// describe prints the program's Description.
func (p *Program) describe(w io.Writer) error {
	d := Description{Name: p.Name, Summary: p.Summary, Version: version.Number()}
	for i := range p.Verbs {
		v := &p.Verbs[i]
		of := VerbDescription{Name: v.Name, Summary: v.Summary, Args: v.Args, Examples: v.Examples,
			Long: strings.TrimSpace(strings.TrimSpace(v.Long) + "\n\n" + v.aboutStdin())}
		v.NewFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				of.Flags = append(of.Flags, describeFlag(f))
			}
		})
		d.Verbs = append(d.Verbs, of)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	return enc.Encode(d)
}

func describeFlag(f *pflag.Flag) FlagDescription {
	d := FlagDescription{Name: f.Name, Short: f.Shorthand}
	d.Value, d.Usage = pflag.UnquoteUsage(f)
	if f.NoOptDefVal != "" {
		d.Value = ""
	}
	if f.DefValue != "[]" && f.DefValue != "false" && f.DefValue != "0" {
		d.Default = strings.Trim(f.DefValue, "[]")
	}
	return d
}
