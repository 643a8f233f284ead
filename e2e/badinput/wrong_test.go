package badinput

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestWrongKind gives the tools undamaged files of the wrong kind. The tools must refuse each file
// with a message that contains one of the words given for it.
func TestWrongKind(t *testing.T) {
	harness.Need(t, "gcc", "ar")
	dir := t.TempDir()
	file := func(name, text string) string {
		p := filepath.Join(dir, name)
		harness.WriteFile(t, p, text)
		return p
	}
	folder := filepath.Join(dir, "folder")
	must.OK(t, os.Mkdir(folder, 0o777))
	object := compile(t, "sample.o", "-c", "-g")
	btf := filepath.Join(dir, "good.btf")
	harness.MustRun(t, "", harness.Tool(t, "btfgen"), "elf", "-o", btf,
		compile(t, "linked", "-g", "-static", "-nostdlib", "-Wl,-e,main"))

	btfo := filepath.Join(dir, "good.btfo")
	harness.MustRun(t, "", harness.Tool(t, "btfgen"), "object", "-o", btfo, object)

	for _, c := range []struct {
		name  string
		in    string
		words []string
		verbs []verb
	}{
		{"missing", filepath.Join(dir, "missing.o"), []string{"no such file"},
			append(elfVerbs(t), btfVerbs(t, btf, btfo)...)},
		{"a directory", folder, []string{"directory"}, append(elfVerbs(t), btfVerbs(t, btf, btfo)...)},
		{"empty", file("empty.o", ""),
			[]string{"empty", "not an ELF", "no ELF", "too short", "truncated", "not BTF", "cut"},
			append(elfVerbs(t), btfVerbs(t, btf, btfo)...)},
		{"text", file("text.o", strings.Repeat("this is text\n", 100)),
			[]string{"not an ELF", "ELF", "magic", "not BTF", "nor BTF"},
			append(elfVerbs(t), btfVerbs(t, btf, btfo)...)},
		{"text as ELF", file("text.ko", strings.Repeat("this is text\n", 100)), []string{"not an ELF"},
			embedVerbs(t, btf)},
		{"an archive as ELF", file("x.a", "!<arch>\n"), []string{"ar archive"}, embedVerbs(t, btf)},
		{"no DWARF", compile(t, "nodwarf.o", "-c", "-g0"), []string{"-g", "DWARF"}, elfVerbs(t)[:1]},
		{"no DWARF, linked", compile(t, "nodwarf", "-g0", "-static", "-nostdlib", "-Wl,-e,main"),
			[]string{"-g", "DWARF"}, elfVerbs(t)[2:]},
		{"split DWARF", withoutDwo(t, compile(t, "split.o", "-c", "-g", "-gsplit-dwarf")),
			[]string{"split"}, elfVerbs(t)[:1]},
		{"an object as BTF", object, []string{".BTF", "BTF"}, btfVerbs(t, btf, btfo)},
	} {
		wrong(t, c.name, c.in, c.words, c.verbs)
	}

	t.Run("lto", func(t *testing.T) {
		slim := filepath.Join(dir, "slim.o")
		source := file("lto.c", sample)
		if r, err := (harness.Command{Argv: []string{"gcc", "-c", "-g", "-flto", "-fno-fat-lto-objects",
			"-o", slim, source}}).Run(); err != nil || r.Exit != 0 {
			t.Skip("SKIPPED: gcc has no -flto here")
		}
		wrong(t, "gcc -flto", slim, []string{"LTO", "lto"}, elfVerbs(t)[:1])
	})
	t.Run("bitcode", func(t *testing.T) {
		harness.Need(t, "clang")
		bitcode := filepath.Join(dir, "bitcode.o")
		harness.MustRun(t, "", "clang", "-c", "-g", "-flto", "-o", bitcode, file("bitcode.c", sample))
		wrong(t, "clang -flto", bitcode, []string{"LTO", "lto", "bitcode"}, elfVerbs(t)[:1])
	})
}

// withoutDwo removes the .dwo files beside an object, and returns the object's path.
func withoutDwo(t *testing.T, object string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(object), "*.dwo"))
	if err != nil || len(files) == 0 {
		t.Fatal("no .dwo file", err)
	}
	for _, name := range files {
		must.OK(t, os.Remove(name))
	}
	return object
}

func wrong(t *testing.T, name, in string, words []string, verbs []verb) {
	t.Helper()
	for _, v := range verbs {
		line := check(t, v, name, in)
		fmt.Printf("| %s | %s | %s |\n", name, v.name,
			head(strings.ReplaceAll(line, filepath.Dir(in)+"/", "")))
		if line == "" {
			t.Errorf("%s: %s accepted the file", name, v.name)
			continue
		}
		found := false
		for _, w := range words {
			found = found || strings.Contains(line, w)
		}
		if !found {
			t.Errorf("%s: %s: %q contains none of %q", name, v.name, head(line), words)
		}
	}
}

// TestUsage gives the tools wrong command lines.
func TestUsage(t *testing.T) {
	for _, tool := range []string{"btfgen", "btfdedup"} {
		for _, args := range [][]string{{}, {"no-such-verb"}, {"--no-such-option"}, {"@/no/such/file"}} {
			r, err := harness.Command{Argv: append([]string{harness.Tool(t, tool)}, args...)}.Run()
			must.OK(t, err)
			if r.Exit == 0 || strings.TrimSpace(r.Stderr) == "" || strings.Contains(r.Stderr, "goroutine ") {
				t.Errorf("%s %q: exit %d, stderr %q; want a failure with a message", tool, args, r.Exit,
					r.Stderr)
			}
		}
	}
}
