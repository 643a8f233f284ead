package main

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/rules-btf/rules_btf/internal/repro"
	"github.com/rules-btf/rules_btf/internal/repro/execlog"
	"github.com/rules-btf/rules_btf/internal/repro/execlog/execlogtest"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// planted compares the logs of two real builds with all kinds of differences.
func planted(t *testing.T) *repro.Report {
	t.Helper()
	var logs [2]*execlog.Log
	for i, name := range []string{"a", "b"} {
		var err error
		if logs[i], err = execlog.ReadFile("../../internal/repro/testdata/planted_" + name + ".log"); err != nil {
			t.Fatal(err)
		}
	}
	r := must.Get(repro.Compare(logs[0], logs[1], repro.Options{}))(t)
	return r
}

func write(t *testing.T, f func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	must.OK(t, f(&b))
	return b.String()
}

func TestText(t *testing.T) {
	r := planted(t)
	got := write(t, func(w io.Writer) error { return writeText(w, r, false) })
	for _, want := range []string{
		"causes:\n  1. source file source.in\n       in 3 actions directly, 2 downstream\n",
		"  6. argument: absolute path /home/one/work vs /srv/two\n",
		"non-deterministic: Random //:random bazel-out/k8-fastbuild/bin/random.txt\n  output",
		"  environment WORD: \"hello\" vs \"goodbye\"\n",
		"  failed: A: success; B: NON_ZERO_EXIT, exit code 3\n",
		"(a link to source.in, a source file)\n",
		"\n22 of 24 actions differ (2 non-deterministic, 11 key changed, ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "\ndownstream: ") || regexp.MustCompile(`[0-9a-f]{32}`).MatchString(got) {
		t.Errorf("the text has downstream actions or whole digests:\n%s", got)
	}
	all := write(t, func(w io.Writer) error { return writeText(w, r, true) })
	if !strings.Contains(all, "\ndownstream: Joined //:joined ") ||
		!strings.Contains(all, "(an output of Both //:both") ||
		!strings.Contains(all, "\ncut-off: Comment ") {
		t.Errorf("with the parameter all:\n%s", all)
	}
}

func TestJSON(t *testing.T) {
	r := planted(t)
	var d map[string]any
	text := write(t, func(w io.Writer) error { return writeJSON(w, r, "a.log", "b.log") })
	must.OK(t, json.Unmarshal([]byte(text), &d))
	if d["format"] != "btfrepro" || d["version"] != 2.0 || d["a"] != "a.log" || d["differ"] != 22.0 {
		t.Errorf("%.300s", text)
	}
	actions := d["actions"].([]any)
	byID := map[float64]bool{}
	for _, a := range actions {
		byID[a.(map[string]any)["id"].(float64)] = true
	}
	for _, a := range actions {
		act := a.(map[string]any)
		changes, _ := act["changes"].([]any)
		for _, c := range changes {
			ch := c.(map[string]any)
			if from := ch["from"].(float64); from >= 0 && !byID[from] {
				t.Errorf("%v: from %v", act["label"], from)
			}
		}
	}
	if len(actions) != 22 {
		t.Errorf("%d actions", len(actions))
	}
	// A list without elements is written as [], not null.
	empty := write(t, func(w io.Writer) error { return writeJSON(w, &repro.Report{}, "", "") })
	if strings.Contains(empty, `"actions": null`) || !strings.Contains(empty, `"causes": []`) {
		t.Error(empty)
	}
}

func TestSummary(t *testing.T) {
	none := execlogtest.New().Log(t)
	one := execlogtest.New()
	one.Spawn(execlogtest.Spawn{Label: "//:x", Mnemonic: "M", CacheHit: true})
	for _, c := range []struct {
		log  *execlog.Log
		want string
	}{{none, "the logs have no actions to compare"}, {one.Log(t), "came from a cache"}} {
		r := must.Get(repro.Compare(c.log, c.log, repro.Options{}))(t)
		got := write(t, func(w io.Writer) error { return writeText(w, r, false) })
		if !strings.Contains(got, c.want) {
			t.Errorf("%s; want %s", got, c.want)
		}
	}
}

// TestTextEscapes checks that text from a log is escaped if it would move a terminal's cursor.
func TestTextEscapes(t *testing.T) {
	r := planted(t)
	for i := range r.Actions {
		act := &r.Actions[i]
		act.Mnemonic, act.Label, act.Output = act.Mnemonic+"\x1b[2J", act.Label+"\x1b", act.Output+"\x7f"
		for j := range act.Changes {
			act.Changes[j].Name += "\x1b[A"
		}
		for j := range act.Outputs {
			act.Outputs[j].Path += "\nsame: "
		}
	}
	for i := range r.Causes {
		r.Causes[i].Text += "\r"
	}
	got := write(t, func(w io.Writer) error { return writeText(w, r, true) })
	unprintable := func(c rune) bool { return c != '\n' && !unicode.IsPrint(c) }
	if i := strings.IndexFunc(got, unprintable); i >= 0 {
		t.Errorf("%q at %d of\n%s", got[i], i, got)
	}
	if strings.Contains(got, "\nsame: ") || !strings.Contains(got, `\x1b[2J`) {
		t.Errorf("a name has its own line, or is missing:\n%s", got)
	}
}
