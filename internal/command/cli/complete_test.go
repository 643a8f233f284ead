package cli

import (
	"bytes"
	"strings"
	"testing"
)

func TestComplete(t *testing.T) {
	p := func() *Program {
		return &Program{Name: "p", Verbs: []Verb{
			{Name: "make", Summary: "make it", Args: "FILE", Flags: Output | Features,
				Setup: func(fs *FlagSet) Run {
					format := ""
					fs.FormatVar(&format)
					fs.Bool("fast", false, "the `other` way")
					return nil
				}},
			{Name: "mend", Summary: "mend it", Args: "FILE", Setup: func(*FlagSet) Run { return nil }},
		}}
	}
	for _, c := range []struct {
		words string // separated by spaces; the last may be empty
		want  string
	}{
		{"", "make\tmake it|mend\tmend it|help\tprint a help text|version\tprint the version|:4"},
		{"me", "mend\tmend it|:4"},
		{"--v", "--version\tprint the version|:4"},
		{"help m", "make\tmake it|mend\tmend it|:4"},
		{"make ", ":0"},
		{"make -", ":0"},
		{"nonsense ", ":0"},
		{"make --fas", "--fast\tthe other way|:4"},
		{"make --fast ", ":0"},
		{"make --fast=", "true\t|false\t|:4"},
		{"make --format ", "text\t|json\t|:4"},
		{"make --format=j", "json\t|:4"},
		{"make --features=var,fl", "var,float\t|:6"},
		{"make --features=force", "force_cu_merging\t|:6"},
		{"make --features -fl", "-float\t|:6"},
		{"make --features=-fl", "-float\t|:6"},
		{"make --btf_features=default,+lay", "default,+layout\t|:6"},
		{"make -j ", ":4"},
		{"make -o ", ":0"},
		{"make --output=x", ":0"},
		{"make x.o --format t", "text\t|:4"},
	} {
		var out bytes.Buffer
		program := p()
		program.Stdout = &out
		code := program.Run(append([]string{completeWord}, strings.Split(c.words, " ")...))
		got := strings.ReplaceAll(strings.TrimSuffix(out.String(), "\n"), "\n", "|")
		if code != 0 || got != c.want {
			t.Errorf("%q: exit code %d, %q, want %q", c.words, code, got, c.want)
		}
	}
}
