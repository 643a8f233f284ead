package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/model/features"
)

// TestPaholeNames: flags under pahole's names, and messages for its options that have none here.
func TestPaholeNames(t *testing.T) {
	var got Flags
	var own string
	run := func(env *Env, _ []string) error { got = env.Flags; return nil }
	program := func() *cobra.Command {
		all := NewFlags(&cobra.Command{Use: "all FILE"}, Base|Features|Output)
		all.InputVar(new(string), "some-long-name", "")
		other := NewFlags(&cobra.Command{Use: "own FILE"}, Base)
		other.InputVar(&own, "btf-base", "")
		return NewProgram("p", "", all.Command(run), other.Command(run))
	}
	code, stderr := call(program, "all -o x --btf_features=float --btf_base=b --some_long_name y f")
	if code != 0 || got.Features != features.Of(features.Float) ||
		strings.Join(got.Bases, " ") != "b" {
		t.Errorf("exit code %d, %+v\n%s", code, got, stderr)
	}
	code, stderr = call(program, "own --btf_base=b f")
	if code != 0 || own != "b" || len(got.Bases) != 0 {
		t.Errorf("exit code %d, %+v, own flag %q\n%s", code, got, own, stderr)
	}
	for _, c := range []struct{ args, want string }{
		{"all --skip_encoding_btf_vars f", "unknown flag: --skip_encoding_btf_vars of pahole; here it is" +
			" --features=-var (see"},
		{"all --btf_encode_detached=x f", "of pahole; here it is -o (see"},
		{"all --btf-features_stric=x f", "unknown flag: --btf-features_stric ("},
		{"own --skip_encoding_btf_vars f", "unknown flag: --skip_encoding_btf_vars ("},
		{"own --btf_features=var f", "unknown flag: --btf_features ("},
	} {
		if code, stderr := call(program, c.args); code != 2 || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit code %d, %s; want %q", c.args, code, stderr, c.want)
		}
	}
}

// TestPaholeFeatures wants what the messages recommend to be right.
func TestPaholeFeatures(t *testing.T) {
	for option, flag := range paholeFeatures {
		list, ok := strings.CutPrefix(flag, "--features=")
		if _, err := features.Parse(list); ok && err != nil {
			t.Errorf("%s: %s: %v", option, flag, err)
		}
	}
}
