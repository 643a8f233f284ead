package remote

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// blocks returns the code blocks in docs/remote.md that are marked with the given language.
func blocks(t testing.TB, language string) []string {
	t.Helper()
	text := harness.ReadFile(t, filepath.Join(harness.Repo(), "docs/remote.md"))
	var out []string
	for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
		if m[1] == language {
			out = append(out, m[2])
		}
	}
	return out
}

// block returns the only code block in docs/remote.md that is marked with the given language.
func block(t testing.TB, language string) string {
	t.Helper()
	all := blocks(t, language)
	if len(all) != 1 {
		t.Fatalf("docs/remote.md has %d blocks of %s, want 1", len(all), language)
	}
	return all[0]
}

// line finds the only indented line in docs/remote.md that begins with a text, and returns the
// words in this line.
func line(t testing.TB, text string) []string {
	t.Helper()
	doc := string(harness.ReadFile(t, filepath.Join(harness.Repo(), "docs/remote.md")))
	var found []string
	for _, l := range strings.Split(doc, "\n") {
		if strings.HasPrefix(l, "    "+text) {
			found = append(found, l)
		}
	}
	if len(found) != 1 {
		t.Fatalf("docs/remote.md has %d indented lines that begin with %q, want 1", len(found), text)
	}
	return strings.Fields(found[0])
}

// TestOptions checks that Bazel accepts the options in all presets, and in all bazelrc blocks in
// docs/remote.md.
func TestOptions(t *testing.T) {
	m, _ := quick(t)
	presets, err := filepath.Glob(filepath.Join(harness.Repo(), "presets/*.bazelrc"))
	if err != nil || len(presets) < 4 {
		t.Fatalf("%d presets: %v", len(presets), err)
	}
	texts := blocks(t, "bazelrc")
	if len(texts) < 7 {
		t.Fatalf("docs/remote.md has %d configurations", len(texts))
	}
	for _, file := range presets {
		texts = append(texts, string(harness.ReadFile(t, file)))
	}
	var options []string
	for _, line := range strings.Split(strings.Join(texts, "\n"), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if command, _, _ := strings.Cut(words[0], ":"); command != "build" {
			t.Errorf("%q is for a command other than build", line)
		}
		options = append(options, words[1:]...)
	}
	args := append([]string{"canonicalize-flags", "--for_command=build", "--"}, options...)
	m.bazel(args...).Must(t)
	r, err := m.bazel(append(args, "--remote_no_such_option=1")...).Run()
	if err != nil || r.Exit == 0 {
		t.Errorf("control: Bazel accepted an option that does not exist: %v", err)
	}
}

// TestPlatform builds with the exec_properties that docs/remote.md shows, and then on the execution
// platform that the page defines.
func TestPlatform(t *testing.T) {
	m, want := quick(t)
	build := filepath.Join(m.dir, "BUILD.bazel")
	before := string(harness.ReadFile(t, build))
	defer harness.WriteFile(t, build, before)
	properties := regexp.MustCompile(`(?s)    exec_properties = \{.*?\},\n`).
		FindString(block(t, "python"))
	if properties == "" {
		t.Fatal("docs/remote.md has no example of exec_properties")
	}
	with := strings.Replace(before, `    name = "vmlinux_btf",`, `    name = "vmlinux_btf",`+"\n"+
		properties, 1)
	m.write("BUILD.bazel", with+block(t, "starlark"))
	m.must()
	m.same(want)
	m.write("BUILD.bazel", strings.Replace(with, "btf_link.", "no_such_group.", 1))
	if o := m.build(); o.exit == 0 {
		t.Error("control: Bazel accepted an exec group that does not exist")
	}
	m.write("BUILD.bazel", before+block(t, "starlark"))
	s := casd(t)
	words := line(t, "bazel build --extra_execution_platforms=")
	extra := words[2 : len(words)-1]
	o := m.must(append(s.execute(t), extra...)...)
	if sum := btfSum(counts(o.spawns)); sum.remote == 0 || sum.local > 0 {
		t.Errorf("%d actions ran remotely and %d locally, want all remotely", sum.remote, sum.local)
	}
	m.same(want)
	args := append([]string{"aquery"}, append(extra, m.options...)...)
	aquery := m.bazel(append(args, `mnemonic("BtfLink", //:vmlinux_btf)`)...).Must(t)
	if !regexp.MustCompile(`(?m)^  Execution platform: (@@)?//:executor$`).MatchString(aquery) {
		t.Errorf("BtfLink runs on a different platform:\n%s", tail(aquery))
	}
}

// TestMissingHit lets btfrepro find out why a build had to run an action again. It uses the
// commands in docs/remote.md.
func TestMissingHit(t *testing.T) {
	m, want := quick(t)
	build := func(log string) {
		words := line(t, "bazel build --execution_log_compact_file="+log)
		m.bazel("clean").Must(t)
		m.bazel(append(words[1:], m.options...)...).Must(t)
	}
	build("A.log")
	source := m.compile(5, objectsSource(5))
	harness.MustRun(t, m.dir, "gcc", "-g", "-O1", "-c", "-Iinclude", "-fno-stack-protector", "-o",
		strings.TrimSuffix(source, ".c")+".o", source)
	build("B.log")
	diff := line(t, "btfrepro diff")
	r := must.Get(harness.Command{Argv: append([]string{harness.Tool(t, diff[0])}, diff[1:]...),
		Dir: m.dir}.Run())(t)
	report := r.Stdout
	if i := strings.Index(report, "causes:"); i >= 0 {
		fmt.Printf("\nAn object that was compiled without -fdebug-prefix-map:\n%s\n", report[i:])
	}
	cause := regexp.MustCompile(`(?m)^ *1\. source file ` +
		regexp.QuoteMeta(strings.TrimSuffix(source, ".c")) + `\.o$`)
	if r.Exit != 1 || !cause.MatchString(report) {
		t.Errorf("btfrepro: exit %d, want 1 and a source file as the cause\n%s%s", r.Exit, report,
			r.Stderr)
	}
	// The action writes the same BTF object, so no other action differs.
	if !regexp.MustCompile(`(?m)^1 of \d+ actions differ( \(|$)`).MatchString(report) {
		t.Errorf("btfrepro does not say that one action differs\n%s", report)
	}
	if m.digests()["vmlinux_btf.btf"] != want["vmlinux_btf.btf"] {
		t.Error("vmlinux_btf.btf has different bytes")
	}
	m.gcc(source)
}

// TestImports checks that the lines in docs/remote.md make a workspace import the presets.
func TestImports(t *testing.T) {
	m, _ := quick(t)
	rc := filepath.Join(m.dir, ".bazelrc")
	before := string(harness.ReadFile(t, rc))
	defer harness.WriteFile(t, rc, before)
	doc := string(harness.ReadFile(t, filepath.Join(harness.Repo(), "docs/remote.md")))
	imports := regexp.MustCompile(`(?m)^    (import %workspace%/presets/(\S+))$`).
		FindAllStringSubmatch(doc, -1)
	if len(imports) < 2 {
		t.Fatalf("docs/remote.md has %d imports of presets", len(imports))
	}
	text := before
	for _, i := range imports {
		text += i[1] + "\n"
		m.write("presets/"+i[2], string(harness.ReadFile(t,
			filepath.Join(harness.Repo(), "presets", i[2]))))
	}
	harness.WriteFile(t, rc, text)
	options := m.bazel("canonicalize-flags", "--for_command=build", "--announce_rc")
	r, err := options.Run()
	if err != nil || r.Exit != 0 {
		t.Fatalf("%v: exit %d\n%s", err, r.Exit, r.Stderr)
	}
	for _, i := range imports {
		if !strings.Contains(r.Stderr, "presets/"+i[2]) {
			t.Errorf("Bazel did not read %s:\n%s", i[2], r.Stderr)
		}
	}
}

var mnemonicLine = regexp.MustCompile(`(?m)^\s*mnemonic = .*$`)

// TestMnemonics checks that the preset for remote execution names exactly the mnemonics of the
// rules.
func TestMnemonics(t *testing.T) {
	rules := map[string]bool{}
	files := append(filesBelow(t, filepath.Join(harness.Repo(), "rules/private")),
		filesBelow(t, filepath.Join(harness.Repo(), "kbuild/private"))...)
	for _, file := range files {
		for _, l := range mnemonicLine.FindAllString(string(harness.ReadFile(t, file)), -1) {
			for _, name := range regexp.MustCompile(`"(B[tp]f\w+)"`).FindAllStringSubmatch(l, -1) {
				rules[name[1]] = true
			}
		}
	}
	if len(rules) < 10 {
		t.Fatalf("the rules have %d mnemonics", len(rules))
	}
	for _, option := range preset(t, "remote-execution.bazelrc") {
		name, ok := strings.CutPrefix(option, "--strategy=")
		if name, ok2 := strings.CutSuffix(name, "=remote"); ok && ok2 {
			if !rules[name] {
				t.Errorf("the preset has %s, which no rule has", name)
			}
			delete(rules, name)
		}
	}
	for name := range rules {
		t.Errorf("the preset does not have %s", name)
	}
}
