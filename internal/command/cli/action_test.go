package cli

import (
	"bytes"
	"errors"
	"testing"
)

// TestAdvise prints messages that name flags, in an action of Bazel and elsewhere.
func TestAdvise(t *testing.T) {
	for _, c := range []struct{ message, advice string }{
		{"a.o: no C (--lang-exclude=c++ or --skip-unencodable leaves such units out)",
			"; in Bazel, --lang-exclude is the attribute lang_exclude or the flag " +
				"--@rules_btf//rules/settings:lang_exclude, --skip-unencodable is the attribute " +
				"skip_unencodable"},
		{"give --dwarf", "; in Bazel, --dwarf is " + debugName},
		{"name the directory by --dwo-dir, or a package by --dwp", "; in Bazel, --dwo-dir and --dwp " +
			"are the attribute debug (not in cc_btf, which reads the .dwo files of --fission, and " +
			"whose attribute exclude leaves out libraries)"},
		{"give --alt, or --dwarf", "; in Bazel, --dwarf is " + debugName + ", --alt is " + altName},
		{"if they are right, run objcopy, or give btfgen --max-decompressed=9",
			"; in Bazel, --max-decompressed is not available: decompress the file first"},
		{"name it by --follow, or a package by --dwp", "; in Bazel, --dwp and --follow are " + debugName},
		{"give --dwarf-like", ""},
		{"nothing to set", ""},
	} {
		for _, action := range []string{"", "1"} {
			t.Setenv(actionVariable, action)
			var text bytes.Buffer
			env := &Env{Program: "p", Stderr: &text}
			env.Error(errors.New(c.message))
			env.Warn("%s", c.message)
			told := c.message
			if action != "" {
				told += c.advice
			}
			if want := "p: " + told + "\np: warning: " + told + "\n"; text.String() != want {
				t.Errorf("action %q: %q, want %q", action, text.String(), want)
			}
		}
	}
}

// TestAdvisePahole: the program that replaces pahole names its own flags, if it has them.
func TestAdvisePahole(t *testing.T) {
	for _, c := range []struct{ message, advice string }{
		{"a.o: no C (--lang-exclude=c++ or --skip-unencodable leaves such units out)",
			"; in this pahole, --lang-exclude is --lang_exclude=rust,…" + paholeFlags +
				", --skip-unencodable is not available: run btfgen"},
		{"give --dwarf or --alt", "; in this pahole, --dwarf and --alt are not available: run btfgen"},
		{"--lang_exclude excludes all compilation units", ""},
		{"the BTF in --btf_base has no base", ""},
	} {
		var text bytes.Buffer
		env := &Env{Program: paholeProgram, Stderr: &text}
		env.Error(errors.New(c.message))
		if want := "pahole: " + c.message + c.advice + "\n"; text.String() != want {
			t.Errorf("%q, want %q", text.String(), want)
		}
	}
}
