package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/model/features"
)

// TestPaholeNames: flags under pahole's names, and messages for its options that have none here.
func TestPaholeNames(t *testing.T) {
	var got Flags
	var own string
	program := func() (*Program, *bytes.Buffer) {
		stderr := new(bytes.Buffer)
		return &Program{Name: "p", Stderr: stderr, Verbs: []Verb{{
			Name: "all", Args: "FILE", Flags: Base | Features | Output,
			Setup: func(fs *FlagSet) Run {
				fs.InputVar(new(string), "some-long-name", "")
				return func(env *Env, _ []string) error { got = env.Flags; return nil }
			},
		}, {
			Name: "own", Args: "FILE", Flags: Base,
			Setup: func(fs *FlagSet) Run {
				fs.InputVar(&own, "btf-base", "")
				return func(env *Env, _ []string) error { got = env.Flags; return nil }
			},
		}}}, stderr
	}
	p, stderr := program()
	code := p.Run(strings.Fields(
		"all -o x --btf_features=float --btf_base=b --some_long_name y f"))
	if code != 0 || got.Features != features.Of(features.Float) ||
		strings.Join(got.Bases, " ") != "b" {
		t.Errorf("exit code %d, %+v\n%s", code, got, stderr)
	}
	p, stderr = program()
	if code := p.Run(strings.Fields("own --btf_base=b f")); code != 0 || own != "b" ||
		len(got.Bases) != 0 {
		t.Errorf("exit code %d, %+v, own flag %q\n%s", code, got, own, stderr)
	}
	for _, c := range []struct{ args, want string }{
		{"all --skip_encoding_btf_vars f", "unknown flag --skip_encoding_btf_vars of pahole; here it is" +
			" --features=-var (see"},
		{"all --btf_encode_detached=x f", "of pahole; here it is -o (see"},
		{"all --btf-features_stric=x f", "unknown flag --btf-features_stric ("},
		{"all --some_long_nam=x f", "unknown flag --some_long_nam; did you mean --some-long-name? ("},
		{"own --skip_encoding_btf_vars f", "unknown flag --skip_encoding_btf_vars ("},
		{"own --btf_features=var f", "unknown flag --btf_features ("},
	} {
		p, stderr := program()
		code := p.Run(strings.Fields(c.args))
		if code != 2 || !strings.Contains(stderr.String(), c.want) {
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
