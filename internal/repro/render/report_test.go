package render

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
)

// planted compares the logs of two real builds with all kinds of differences.
func planted(t *testing.T, opt repro.Options) *repro.Report {
	t.Helper()
	var logs [2]*execlog.Log
	for i, name := range []string{"a", "b"} {
		var err error
		if logs[i], err = execlog.ReadFile("../testdata/planted_" + name + ".log"); err != nil {
			t.Fatal(err)
		}
	}
	r, err := repro.Compare(logs[0], logs[1], opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func write(t *testing.T, f func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := f(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestText(t *testing.T) {
	a, err := repro.ParseAllowance("label=//:nothing # no reason")
	if err != nil {
		t.Fatal(err)
	}
	r := planted(t, repro.Options{Allow: []repro.Allowance{a}})
	got := write(t, func(w io.Writer) error { return Text(w, r, false) })
	for _, want := range []string{
		"causes:\n  1. source file source.in\n       in 3 actions directly, 2 downstream\n",
		"  6. absolute path /home/one/work vs /srv/two in arguments\n",
		"non-deterministic: Random //:random bazel-out/k8-fastbuild/bin/random.txt\n  output",
		"  environment WORD: \"hello\" vs \"goodbye\"\n",
		"  failed: A: success; B: NON_ZERO_EXIT, exit code 3\n",
		"(a link to source.in, a source file)\n",
		"note: this allowance matches nothing: label=//:nothing # no reason\n",
		"\n22 of 24 actions differ\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "\ndownstream: ") || regexp.MustCompile(`[0-9a-f]{32}`).MatchString(got) {
		t.Errorf("the text has downstream actions or whole digests:\n%s", got)
	}
	all := write(t, func(w io.Writer) error { return Text(w, r, true) })
	if !strings.Contains(all, "\ndownstream: Joined //:joined ") ||
		!strings.Contains(all, "(an output of Both //:both") ||
		!strings.Contains(all, "\ncut-off: Comment ") {
		t.Errorf("with the parameter all:\n%s", all)
	}
}

func TestJSON(t *testing.T) {
	r := planted(t, repro.Options{})
	var d map[string]any
	text := write(t, func(w io.Writer) error { return JSON(w, r, "a.log", "b.log") })
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	if d["format"] != "btfrepro" || d["version"] != 1.0 || d["a"] != "a.log" || d["differ"] != 22.0 {
		t.Errorf("%.300s", text)
	}
	actions := d["actions"].([]any)
	causes := d["causes"].([]any)
	byID := map[float64]bool{}
	for _, a := range actions {
		byID[a.(map[string]any)["id"].(float64)] = true
	}
	for _, a := range actions {
		act := a.(map[string]any)
		changes, _ := act["changes"].([]any)
		for _, c := range changes {
			ch := c.(map[string]any)
			from, cause := ch["from"].(float64), ch["cause"].(float64)
			if (from < 0) == (cause < 0) || from >= 0 && !byID[from] || int(cause) >= len(causes) {
				t.Errorf("%v: from %v, cause %v", act["label"], from, cause)
			}
		}
	}
	if len(actions) != 22 {
		t.Errorf("%d actions", len(actions))
	}
	// A list without elements is written as [], not null.
	empty := write(t, func(w io.Writer) error { return JSON(w, &repro.Report{}, "", "") })
	if strings.Contains(empty, `"actions": null`) || !strings.Contains(empty, `"causes": []`) {
		t.Error(empty)
	}
}

func TestHTML(t *testing.T) {
	r := planted(t, repro.Options{})
	page := write(t, func(w io.Writer) error { return HTML(w, r, "<a>", "b") })
	for range 5 {
		if again := write(t, func(w io.Writer) error { return HTML(w, r, "<a>", "b") }); again != page {
			t.Fatal("a second page differs")
		}
	}
	for _, want := range []string{"22 of 24 actions differ", "&lt;a&gt;", "source.in",
		"prefers-color-scheme: dark", "//:uses_directory"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	if m := regexp.MustCompile(`(?i)(src|href)\s*=|url\(|@import|<script`).FindString(page); m != "" {
		t.Errorf("the page needs something else: %s", m)
	}
}

// TestLargePage checks that the page is not too large if two logs differ in everything.
func TestLargePage(t *testing.T) {
	a := execlogtest.Large(5000, execlogtest.Edits{Random: 2000, Order: 1}).Log(t)
	b := execlogtest.Large(5000, execlogtest.Edits{Random: 2000, Order: 2}).Log(t)
	r, err := repro.Compare(a, b, repro.Options{})
	if err != nil {
		t.Fatal(err)
	}
	page := write(t, func(w io.Writer) error { return HTML(w, r, "a", "b") })
	if len(page) > 2<<20 || !strings.Contains(page, "more causes; the JSON lists all of them") {
		t.Errorf("%d bytes", len(page))
	}
}

func TestSummary(t *testing.T) {
	none := execlogtest.New().Log(t)
	one := execlogtest.New()
	one.Spawn(execlogtest.Spawn{Label: "//:x", Mnemonic: "M", CacheHit: true})
	for _, c := range []struct {
		log   *execlog.Log
		want  string
		notes int
	}{{none, "the logs have no actions to compare", 0}, {one.Log(t), "same: 1 action", 1}} {
		r, err := repro.Compare(c.log, c.log, repro.Options{})
		if err != nil || summary(r) != c.want || len(notes(r)) != c.notes {
			t.Errorf("%s, %q, %v; want %s", summary(r), notes(r), err, c.want)
		}
	}
}

// TestTextEscapes checks that text from a log is escaped if it would move a terminal's cursor.
func TestTextEscapes(t *testing.T) {
	r := planted(t, repro.Options{})
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
	for i := range r.Counts {
		r.Counts[i].Mnemonic += "\x1b"
	}
	got := write(t, func(w io.Writer) error { return Text(w, r, true) })
	unprintable := func(c rune) bool { return c != '\n' && !unicode.IsPrint(c) }
	if i := strings.IndexFunc(got, unprintable); i >= 0 {
		t.Errorf("%q at %d of\n%s", got[i], i, got)
	}
	if strings.Contains(got, "\nsame: ") || !strings.Contains(got, `\x1b[2J`) {
		t.Errorf("a name has its own line, or is missing:\n%s", got)
	}
}
