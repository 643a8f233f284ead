package main

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestRepository wants the documentation of this repository to lack nothing.
func TestRepository(t *testing.T) {
	_, file, _, _ := runtime.Caller(0)
	repo := filepath.Join(filepath.Dir(file), "../../..")
	if _, err := os.Stat(filepath.Join(repo, page)); err != nil {
		t.Skip("SKIPPED: this needs the whole repository, which Bazel's sandbox doesn't have")
	}
	problems, err := check(os.DirFS(repo))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s", p)
	}
	messages, err := allMessages(os.DirFS(repo))
	if err != nil || len(messages) < 700 {
		t.Errorf("%d messages, %v: they are collected wrongly", len(messages), err)
	}
}

// TestMessages has what a program and a rule say, in all ways in which messages are made.
func TestMessages(t *testing.T) {
	repo := fstest.MapFS{
		"internal/a/a.go": {Data: []byte(`package a

func (r *Reader) Errorf(off int, format string, args ...any) error {
	return fmt.Errorf("%s at %#x: %w", r.name, off, fmt.Errorf(format, args...))
}

func (r *Reader) tell(format string, args ...any) { r.log(format, args...) }

func read(r *Reader) error {
	fail := func(format string, args ...any) { r.err = fmt.Errorf("header: "+format, args...) }
	fail("%d bytes are too few", 3)
	r.tell("looking in %s", r.name)
	if r.err != nil {
		return fmt.Errorf("%s: %w", r.name, r.err)
	}
	return errors.New("the file has " + "no end")
}
`)},
		"internal/b/b.go": {Data: []byte(`package b

func f(r *a.Reader) error { return r.Errorf(1, "%q is 100%% wrong", r) }
`)},
		"internal/b/b_test.go":         {Data: []byte("package b\n\nvar err = errors.New(\"a test's own\")\n")},
		"internal/command/screen/s.go": {Data: []byte("package s\n\nvar err = errors.New(\"a test's own\")\n")},
		"kbuild/defs.bzl": {Data: []byte(`def f(x):
    fail(("{}: " + "no tree").format(x))
`)},
		"rules/a.bzl": {Data: []byte(`def f(x):
    fail(("{} has {{}}: " +
          "name {}").format(x, x))
`)},
		"rules/tests/tests.bzl": {Data: []byte("def f():\n    fail(\"a test's own\")\n")},
		"tools/t/main.go":       {Data: []byte("package main\n")},
	}
	found, err := allMessages(repo)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, m := range found {
		if m.text != "" {
			texts = append(texts, m.text)
		}
	}
	slices.Sort(texts)
	want := []string{"no tree", "the file has no end", "… bytes are too few", "… has {}: name …",
		"… is 100% wrong"}
	if !slices.Equal(texts, want) {
		t.Errorf("found %q, want %q", texts, want)
	}
}

// TestStale compares messages with a page.
func TestStale(t *testing.T) {
	const text = "# Page\n\n```text\nshown whole\nthis message is longer than others, and …\n" +
		"cut too …\nthis one is\n  wrapped\ngone\n```\n\n```log\nnot a message\n```\n"
	messages := []message{
		{text: "shown whole"}, {text: "cut too early"}, {text: "this one is wrapped"},
		{text: "this message is longer than others, and it goes on"}, {text: "not on the page"},
	}
	var old []string
	for _, p := range stale(messages, patterns(text)) {
		old = append(old, p.text)
	}
	if want := []string{"cut too …", "gone"}; !slices.Equal(old, want) {
		t.Errorf("%q are stale, want %q", old, want)
	}
}

// TestLinks has links that lead somewhere, and some that don't.
func TestLinks(t *testing.T) {
	repo := fstest.MapFS{
		"README.md": {Data: []byte("# A `title`, of two\n\n" +
			"[a](docs/a.md#a-b-c) [b](docs) [top](#a-title-of-two)\n" +
			"[wrapped\ntext](docs/none.md) [c](docs/a.md#none) [d](https://example.com/none)\n" +
			"`[e](none)`\n\n" +
			"```text\n[f](none)\n# no heading\n```\n\n    [g](none)\n\n[h](#no-heading)\n")},
		"docs/a.md": {Data: []byte("## A b_c\n\n## a [b](../README.md) c\n\n## twice\n\n" +
			"## twice\n\n[i](#twice-1)\n")},
		".hidden/none.md": {Data: []byte("[j](none)\n")},
	}
	broken, err := brokenLinks(repo)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"docs/none.md leads to no file", "docs/a.md#none leads to no heading",
		"#no-heading leads to no heading"}
	for i, b := range broken {
		if i >= len(want) || !strings.HasSuffix(b, want[i]) {
			t.Errorf("%s", b)
		}
	}
	if len(broken) != len(want) {
		t.Errorf("%d broken links, want %d", len(broken), len(want))
	}
}
