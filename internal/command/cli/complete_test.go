package cli

import (
	"bytes"
	"strings"
	"testing"
)

func TestComplete(t *testing.T) {
	program := of("make FILE", Output|Features, func(f *FlagSet) Run {
		format := ""
		f.FormatVar(&format)
		f.Bool("fast", false, "the `other` way")
		return nil
	})
	for _, c := range []struct {
		words string // separated by spaces; the last may be empty
		want  string
	}{
		{"ma", "make|:4"},
		{"make -o x ", ":0"},
		{"make --fas", "--fast\tthe `other` way|:4"},
		{"make --format ", "text|json|:4"},
		{"make --format=j", "json|:4"},
		{"make --features=var,fl", "var,float|:6"},
		{"make --features=force", "force_cu_merging|:6"},
		{"make --features=-fl", "-float|:6"},
		{"make --features=default,+lay", "default,+layout|:6"},
		{"make -o ", ":0"},
		{"make x.o --format t", "text|:4"},
	} {
		var out bytes.Buffer
		args := append([]string{"__complete"}, strings.Split(c.words, " ")...)
		code := Execute(program, args, nil, &out, new(bytes.Buffer))
		got := strings.ReplaceAll(strings.TrimSuffix(out.String(), "\n"), "\n", "|")
		if code != 0 || got != c.want {
			t.Errorf("%q: exit code %d, %q, want %q", c.words, code, got, c.want)
		}
	}
}
