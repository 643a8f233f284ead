package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/repro/execlog/execlogtest"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

const testdata = "../../internal/repro/testdata/"

func TestDiff(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.OK(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	allow := file("allow", "# expected\n\nmnemonic=Random # it is random\n  mnemonic=MakeTree # too\n")
	bad := file("bad", "mnemonic=Random # it is random\nmnemonic=MakeTree\n")
	text := file("text", "this is no log")
	empty := file("empty", string(execlogtest.New().Zstd(t)))
	none := file("none", string(execlogtest.New().Zstd(t)))
	a, b := testdata+"mapped_a.log", testdata+"mapped_b.log"
	data := must.Get(os.ReadFile(a))(t)
	again := file("again", string(data))
	one := func(name string, cached bool, labels ...string) string {
		l := execlogtest.New()
		for _, label := range labels {
			l.Spawn(execlogtest.Spawn{Label: label, Mnemonic: "M", CacheHit: cached}, l.File(label, ""))
		}
		return file(name, string(l.Zstd(t)))
	}
	x, y, xy := one("x", false, "//:x"), one("y", false, "//:y"), one("xy", false, "//:x", "//:y")
	cached := one("cached", true, "//:x")
	for _, c := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{a, again}, 0, "same: 23 actions\n", ""},
		{[]string{a, a}, 2, "", "mapped_a.log are the same file; pass the logs of two builds"},
		{[]string{x, y}, 1, "", "no action to compare is in both logs ("},
		{[]string{"--mnemonic=M", x, empty}, 1, "", "no action to compare is in both logs"},
		{[]string{"--allow=mnemonic=M # so", x, y}, 1, "", "x has 1, "},
		{[]string{x, xy}, 1, "\n1 of 2 actions differ (", ""},
		{[]string{x, cached}, 1, "same: 1 action\n", "nothing was compared: the results of all "},
		{[]string{cached, xy}, 1, "\n1 of 2 actions differ (", ""},
		{[]string{a, b}, 1, "\n7 of 23 actions differ (", ""},
		{[]string{"--allow-file=" + allow, a, b}, 0,
			"\n0 of 23 actions differ; 7 more differ but are allowed to (2 non-", ""},
		{[]string{"--allow=mnemonic=Random # so", "--allow=output=*/directory # too", a, b}, 0,
			"; 7 more differ but are allowed to (2 non-", ""},
		{[]string{"--allow=mnemonic=None # so", a, b}, 1, "\n7 of 23 ",
			"warning: an entry of --allow or --allow-file matches nothing: mnemonic=None # so\n"},
		{[]string{"--mnemonic=Tool,Same", a, b}, 0, "same: 2 actions\n", ""},
		{[]string{"--mnemonic=Same,Nothing", a, b}, 1, "",
			"no action in the logs has the mnemonic Nothing; without --mnemonic, all are compared\n"},
		{[]string{empty, none}, 1, "", "none has an action, because all actions were up to date"},
		{[]string{"--json=-", a, b}, 1, "{\n  \"format\": \"btfrepro\",\n  \"version\": 2,", ""},
		{[]string{"--allow-file=" + bad, a, b}, 1, "",
			"bad:2: allowance \"mnemonic=MakeTree\": a reason"},
		{[]string{"--allow=x", a, b}, 2, "", "--allow: allowance \"x\": a reason is missing"},
		{[]string{"--a-dir=x", a, b}, 2, "", "--a-dir and --b-dir must be given together"},
		{[]string{a, text}, 1, "", "text: execution log: entry at byte 0"},
		{[]string{"--json=" + a, a, b}, 2, "", "is also an input"},
	} {
		code, stdout, stderr := run(append([]string{"diff"}, c.args...)...)
		if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) ||
			c.stdout == "" && stdout != "" || strings.Count(stderr, "\n") > 1 {
			t.Errorf("%q: exit code %d, want %d\n%.1500s\n%s", c.args, code, c.code, stdout, stderr)
		}
	}
}
