package remote

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// The tests in this file follow the instructions for administrators in docs/remote.md.

// deleteDamaged deletes the damaged files in a cache with the commands in docs/remote.md. It
// returns the number of files that are left.
func deleteDamaged(t testing.TB, cache string) int {
	t.Helper()
	shell(t, "sha256sum", "~/.cache/bazel-disk", cache)
	return len(filesBelow(t, filepath.Join(cache, "cas")))
}

// TestDeleteDamaged damages a third of the files in a disk cache and in nginx's cache, and checks
// that the commands in docs/remote.md delete exactly these files. Then the caches only lack
// content. For a disk cache, any build restores the content; for nginx, a build that downloads
// everything.
func TestDeleteDamaged(t *testing.T) {
	needAll(t)
	m, want := quick(t)
	for _, s := range stores(t)[:2] {
		options := append(preset(t, "remote-cache.bazelrc"), s.option)
		m.must(options...)
		blobs := s.blobs()
		var some []string
		for i, path := range blobs {
			if i%3 == 0 && len(harness.ReadFile(t, path)) > 0 {
				some = append(some, path)
			}
		}
		damage(t, some)
		if left := deleteDamaged(t, s.dir); left != len(blobs)-len(some) {
			t.Errorf("%s: %d files are left of %d, of which %d were damaged", s.name, left, len(blobs),
				len(some))
		}
		if s.server == nil {
			show(t, "disk cache, damaged files deleted", m.must(options...))
			m.same(want)
			continue
		}
		all := append(options, "--remote_download_outputs=all")
		show(t, "HTTP cache, damaged files deleted, all downloaded", m.must(all...))
		m.same(want)
		allHits(t, "HTTP cache after that", show(t, "HTTP cache after that", m.must(options...)))
		m.same(want)
	}
}

// TestExpire fills an HTTP cache, uses some of its files again later, and then deletes the files
// that were not used again. Builds must still work.
func TestExpire(t *testing.T) {
	needAll(t)
	m, want := quick(t)
	s := nginx(t)
	options := append(preset(t, "remote-cache.bazelrc"), s.option())
	age := func(days int) {
		date := time.Now().AddDate(0, 0, -days)
		for _, path := range filesBelow(t, s.dir) {
			if err := os.Chtimes(path, date, date); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.must(options...)
	age(40)
	// One object gets a new type, so everything that depends on this object is new. In another
	// object, only line numbers change, so a new action result refers to an old BTF object.
	m.compile(7, objectsSource(10_000))
	m.compile(8, "\n\n"+objectsSource(8))
	m.must(options...)
	other := m.digests()
	before := len(filesBelow(t, s.dir))
	shell(t, "-mtime", "/var/cache/bazel", s.dir)
	after := len(filesBelow(t, s.dir))
	fmt.Printf("\nHTTP cache: %d of %d files are left after the old ones were deleted\n", after,
		before)
	if after == 0 || after >= before {
		t.Errorf("%d of %d files are left", after, before)
	}
	show(t, "HTTP cache without its old files", m.must(options...))
	m.same(other)
	m.compile(7, objectsSource(7))
	m.compile(8, objectsSource(8))
	m.must(options...)
	m.same(want)
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
	r, err := harness.Command{Argv: append([]string{harness.Tool(t, diff[0])}, diff[1:]...),
		Dir: m.dir}.Run()
	if err != nil {
		t.Fatal(err)
	}
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
	if !regexp.MustCompile(`(?m)^1 of \d+ actions differ$`).MatchString(report) {
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
