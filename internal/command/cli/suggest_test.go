package cli

import "testing"

func TestDidYouMean(t *testing.T) {
	verbs := []string{"merge", "link", "modules", "import", "embed", "resolve-ids", "relocate",
		"verify", "extract"}
	flags := []string{"--check", "--features", "--lang-exclude", "--debug-dir", "--dwo-dir",
		"--dir", "--data", "--default"}
	for _, c := range []struct {
		typed string
		names []string
		want  string
	}{
		{"ver", verbs, "; did you mean verify?"},
		{"Verify", verbs, "; did you mean verify?"},
		{"re", verbs, "; did you mean resolve-ids or relocate?"},
		{"m", verbs, "; did you mean merge or modules?"},
		{"lnik", verbs, "; did you mean link?"},
		{"extarct", verbs, "; did you mean extract?"},
		{"ids", verbs, "; did you mean resolve-ids?"},
		{"frobnicate", verbs, ""},
		{"?", verbs, ""},
		{"", verbs, ""},
		{"--chek", flags, "; did you mean --check?"},
		{"--feat", flags, "; did you mean --features?"},
		{"--exclude", flags, "; did you mean --lang-exclude?"},
		{"--d", flags, ""}, // too many
		{"--data", append(flags, "--data-base"), "; did you mean --data?"},
		{"--bogus", []string{"--jobs"}, ""},
		{"--", flags, ""},
	} {
		if got := DidYouMean(c.typed, c.names); got != c.want {
			t.Errorf("%q: %q, want %q", c.typed, got, c.want)
		}
	}
}
