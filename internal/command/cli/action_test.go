package cli

import (
	"bytes"
	"errors"
	"testing"
)

// TestAdvise prints messages that name flags, in an action of Bazel and elsewhere.
func TestAdvise(t *testing.T) {
	for _, c := range []struct{ message, advice string }{
		{"a.o: no C (--lang-exclude=c++ or --features=+skip_unencodable leaves such units out)",
			"; in Bazel, --lang-exclude is the attribute lang_exclude or the flag " +
				"--@rules_btf//rules/settings:lang_exclude, --features is the attribute btf_features or " +
				"the flag --@rules_btf//rules/settings:btf_features"},
		{"give --debug-file", "; in Bazel, --debug-file is " + debugName},
		{"if they are right, run objcopy, or give btfgen --max-decompressed=9",
			"; in Bazel, --max-decompressed is not available: decompress the file first"},
		{"give --debug-files", ""},
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
		{"a.o: no C (--lang-exclude=c++ or --features=+skip_unencodable leaves such units out)",
			"; in this pahole, --lang-exclude is --lang_exclude=rust,…" + paholeFlags +
				", --features is --btf_features" + paholeFlags},
		{"give --input or --debug-file", "; in this pahole, --input and --debug-file are not available: " +
			"run btfgen"},
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
