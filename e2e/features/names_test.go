package features

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestNames checks that our tools know the name of each feature that pahole knows.
func TestNames(t *testing.T) {
	harness.Need(t, "pahole")
	r, err := harness.Command{Argv: []string{"pahole", "--supported_btf_features"}}.Run()
	if err != nil || r.Exit != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	names := strings.Split(strings.TrimSpace(r.Stdout), ",")
	if len(names) < 10 {
		t.Errorf("pahole knows %q", names)
	}
	for _, name := range names {
		if _, err := features.Parse(name); err != nil {
			t.Error(err)
		}
	}
}

// TestRules checks that the feature sets "default" and "all" have the same features in the rules as
// in the tools.
func TestRules(t *testing.T) {
	text := string(harness.ReadFile(t, filepath.Join(harness.Repo(), "rules/private/features.bzl")))
	list := func(name string) []string {
		m := regexp.MustCompile(`(?s)\n` + name + ` = [^\[]*\[([^\]]*)\]`).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no %s in features.bzl", name)
		}
		var names []string
		for _, quoted := range regexp.MustCompile(`"(\w+)"`).FindAllStringSubmatch(m[1], -1) {
			names = append(names, quoted[1])
		}
		return names
	}
	for set, names := range map[string][]string{
		"default": list("_DEFAULT"),
		"all":     slices.Concat(list("_DEFAULT"), list("_ALL")),
	} {
		want := must.Get(features.Parse(set))(t)
		if got, err := features.Parse(strings.Join(names, ",")); err != nil || got != want {
			t.Errorf("%s means %v in the rules (%v), but %v in the tools", set, got, err, want)
		}
	}
}
