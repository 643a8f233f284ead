package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// parsed is how a command line is read: the options with their values, then the files.
func parsed(args []string) (string, error) {
	var words []string
	files, err := parseOptions(args, func(o *option, value string) (bool, error) {
		words = append(words, fmt.Sprintf("%s=%s", o.name, value))
		return o.name == "version", nil
	})
	return strings.Join(slices.Concat(words, files), " "), err
}

// TestParseOptions reads command lines as glibc does.
func TestParseOptions(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"", ""},
		{"a -J b", "btf_encode= a b"},
		{"-J -j a", "btf_encode= jobs= a"},
		{"-J -j 4 a", "btf_encode= jobs= 4 a"},
		{"-Jj4 a", "btf_encode= jobs=4 a"},
		{"-jJ", "jobs=J"},
		{"-VqJ a", "verbose= quiet= btf_encode= a"},
		{"-Fdwarf -F dwarf", "format_path=dwarf format_path=dwarf"},
		{"--jobs=4 --jobs 4", "jobs=4 jobs= 4"},
		{"--btf_base v.btf --btf_base=w.btf", "btf_base=v.btf btf_base=w.btf"},
		{"--btf_base --jobs", "btf_base=--jobs"},
		{"--btf_features=", "btf_features="},
		{"--btf_encode_d=x=y m", "btf_encode_detached=x=y m"},
		{"--btf_encode", "btf_encode="},
		{"--btf_features=a --btf_features_strict=b", "btf_features=a btf_features_strict=b"},
		{"--kabi P", "kabi_prefix=P"},
		{"- -- -J --btf_base", "- -J --btf_base"},
		{"--version --no-such-option", "version="},
		{"-? -J", "help= btf_encode="},
		{"--class_name task -Ctask -A", "class_name=task class_name=task nested_anon_include="},
	} {
		got, err := parsed(strings.Fields(tt.args))
		if err != nil || got != tt.want {
			t.Errorf("%q is read as %q, %v; want %q", tt.args, got, err, tt.want)
		}
	}
	for _, tt := range []struct{ args, want string }{
		{"--bogus", "unrecognized option '--bogus'"},
		{"--btf_enc x", "option '--btf_enc' is ambiguous; possibilities: '--btf_encode' " +
			"'--btf_encode_detached' '--btf_encode_force'"},
		{"--class", "ambiguous"},
		{"-J --btf_base", "option '--btf_base' requires an argument"},
		{"--btf_encode=x", "option '--btf_encode' doesn't allow an argument"},
		{"-JF", "option requires an argument -- 'F'"},
		{"-Jk", "invalid option -- 'k'"},
		{"-J\x00", "invalid option"},
	} {
		if got, err := parsed(strings.Fields(tt.args)); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q is read as %q, %v; want an error with %q", tt.args, got, err, tt.want)
		}
	}
}

// TestOptions checks the table: no name twice, and each option does something or says why not.
func TestOptions(t *testing.T) {
	names, shorts := map[string]bool{}, map[byte]bool{}
	for _, o := range options() {
		if names[o.name] || o.short != 0 && shorts[o.short] {
			t.Errorf("--%s or -%c is there twice", o.name, o.short)
		}
		names[o.name], shorts[o.short] = true, true
		if o.set != nil && o.help == "" || o.set != nil && o.takes != noValue && o.value == "" {
			t.Errorf("--%s has no help text", o.name)
		}
	}
}

// FuzzCommand reads hostile command lines, one argument a line: there is a command or an error that
// is one line.
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
			t.Errorf("%q asks for nothing, and that is no error", lines)
		}
		if c.jobs < 0 {
			t.Errorf("%d threads", c.jobs)
		}
	})
}
