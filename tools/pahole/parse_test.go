package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestParseOptions reads command lines in the forms that kernel builds use.
func TestParseOptions(t *testing.T) {
	for _, tt := range []struct {
		args string
		want command
	}{
		{"a -J b", command{inPlace: true, files: []string{"a", "b"}}},
		{"-J -j a", command{inPlace: true, files: []string{"a"}}},
		{"-J -j4 a", command{inPlace: true, jobs: 4, files: []string{"a"}}},
		{"-VqJ a", command{inPlace: true, verbose: true, quiet: true, files: []string{"a"}}},
		{"-J -Fdwarf -F dwarf a", command{inPlace: true, files: []string{"a"}}},
		{"-J --jobs=4 --jobs 4", command{inPlace: true, jobs: 0, files: []string{"4"}}},
		{"-J --btf_base v.btf --btf_base=w.btf a",
			command{inPlace: true, base: "w.btf", files: []string{"a"}}},
		{"--btf_encode_detached=x=y m", command{detached: "x=y", files: []string{"m"}}},
		{"-J --kabi_prefix P --lang_exclude rust a",
			command{inPlace: true, prefix: "P", exclude: "rust", files: []string{"a"}}},
		{"-J -- -J --btf_base", command{inPlace: true, files: []string{"-J", "--btf_base"}}},
		{"--version --no-such-option", command{show: "v1.32\n"}},
	} {
		c := must.Get(newCommand("", ""))(t)
		tt.want.version, tt.want.features = c.version, c.features
		if err := c.parse(strings.Fields(tt.args)); err != nil || !reflect.DeepEqual(*c, tt.want) {
			t.Errorf("%q is read as %+v, %v; want %+v", tt.args, *c, err, tt.want)
		}
	}
	for _, tt := range []struct{ args, want string }{
		{"--bogus", "unknown flag: --bogus: this pahole only encodes BTF; to print types, use"},
		{"-Ctask a", "'C' in -Ctask: this pahole only encodes BTF"},
		{"-J --btf_base", "flag needs an argument: --btf_base"},
		{"-J --btf_base= a", "specify a file"},
		{"-J -F ctf a", "BTF is encoded from DWARF only"},
		{"-J\x00", "unknown shorthand flag"},
	} {
		c, err := newCommand("", "")
		if err == nil {
			err = c.parse(strings.Fields(tt.args))
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q is read as %+v, %v; want an error with %q", tt.args, c, err, tt.want)
		}
	}
}

// FuzzCommand parses hostile command lines, one argument per line: the result is a command, or a
// one-line error.
func FuzzCommand(f *testing.F) {
	f.Add("-J\n-j\n--btf_features=default,+x\n--btf_base\nvmlinux\nm.ko", "", "")
	f.Add("--btf_features=+reproducible_build,,\n--btf_gen_all\n-Jj8", "v1.25", "rust")
	f.Add("-C\ntask_struct\n--\n-J", "132", "")
	f.Add("--\x00\n-\xff\n--=", "1.2.3", "c++,rust")
	f.Fuzz(func(t *testing.T, lines, version, exclude string) {
		c, err := newCommand(version, exclude)
		if err == nil {
			err = c.parse(strings.Split(lines, "\n"))
		}
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		if c.show == "" && (len(c.files) == 0 || !c.inPlace && c.detached == "") {
			t.Errorf("%q requests nothing, but there is no error", lines)
		}
		if c.jobs < 0 {
			t.Errorf("%d threads", c.jobs)
		}
	})
}
