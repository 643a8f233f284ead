package btf_test

import (
	"bytes"
	"errors"
	"flag"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func mustCompile(t *testing.T, source string, args ...string) *os.File {
	t.Helper()
	file := must.Get(compile(source, args...))(t)
	t.Cleanup(func() { file.Close() })
	return file
}

const (
	kernel = `struct task { int pid; }; struct list { struct list *next; };
int pid_of(struct task *t, struct list *l) { return t->pid; }`
	module = `struct task { int pid; }; struct disk { struct task *owner; };
int owner(struct disk *d) { return d->owner->pid; }
int odd(int a, int b);
int odd(int a, int b) { return a; }`
	program = `struct task { int pid; } __attribute__((preserve_access_index));
__attribute__((section("kprobe/x"))) int run(struct task *t) { return t->pid; }`
)

func TestSplitAndMinimal(t *testing.T) {
	base, err := btf.FromELF("vmlinux", mustCompile(t, kernel), btf.Options{})
	must.OK(t, err)
	var first []byte
	for threads := range 4 {
		split := must.Get(btf.FromELF("disk.ko", mustCompile(t, module), btf.Options{Threads: threads,
			Bases: [][]byte{base.BTF}}))(t)
		if first == nil {
			first = split.BTF
		}
		if !bytes.Equal(first, split.BTF) {
			t.Error("the bytes depend on the number of threads")
		}
		for name, want := range map[string]bool{"disk": true, "owner": true, "task": false} {
			if got := bytes.Contains(split.BTF, []byte("\x00"+name+"\x00")); got != want {
				t.Errorf("the split BTF has %s: %t, want %t", name, got, want)
			}
		}
	}
	if found, err := btf.Verify(first, base.BTF); len(found) > 0 || err != nil {
		t.Errorf("Verify: %v, %v", found, err)
	}
	if _, err := exec.LookPath("clang"); err != nil {
		t.Skip("SKIPPED: clang isn't on PATH")
	}
	needs, err := btf.NeedsOf(mustCompile(t, program, "clang", "-g", "-O2", "-target", "bpf", "-c"))
	must.OK(t, err)
	small, err := needs.Minimal(base.BTF)
	must.OK(t, err)
	if !bytes.Contains(small, []byte("\x00task\x00")) || bytes.Contains(small, []byte("list")) {
		t.Errorf("the minimal BTF has the strings %q", small)
	}
}

func TestErrors(t *testing.T) {
	base := must.Get(btf.FromELF("vmlinux", mustCompile(t, kernel), btf.Options{}))(t)
	options := btf.Options{Bases: [][]byte{base.BTF}}
	const banner = "\nconst char linux_banner[] = \"Linux version 7.2.0 (root@host)\\n\";"
	linked := mustCompile(t, kernel+banner, "cc", "-g", "-nostdlib", "-static", "-Wl,-e,0")
	for name, c := range map[string]struct {
		make func() error
		want error
	}{
		"text": {func() error {
			_, err := btf.FromELF("a.c", strings.NewReader("int a;"), btf.Options{})
			return err
		}, btf.ErrNotELF},
		"without debugging information": {func() error {
			_, err := btf.FromELF("a.o", mustCompile(t, module, "cc", "-c"), btf.Options{})
			return err
		}, btf.ErrNoDebugInfo},
		"a kernel on a base": {func() error {
			_, err := btf.FromELF("vmlinux", linked, options)
			return err
		}, btf.ErrWrongBase},
	} {
		if err := c.make(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		} else if strings.ContainsRune(err.Error(), '\n') {
			t.Errorf("%s: several lines: %v", name, err)
		}
	}
	if _, err := btf.Verify([]byte("text")); err == nil {
		t.Error("text is BTF")
	}
	damaged := bytes.Clone(base.BTF)
	damaged[len(damaged)-1] = 'x'
	if found, err := btf.Verify(damaged); err == nil && len(found) == 0 {
		t.Error("damaged BTF passes")
	}
}

var update = flag.Bool("update", false, "write testdata/api.txt")

// TestAPI compares what the package exports with a list, because COMPATIBILITY.md promises it.
func TestAPI(t *testing.T) {
	paths := must.Get(filepath.Glob("*.go"))(t)
	var lines []string
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f := must.Get(parser.ParseFile(token.NewFileSet(), path, nil, 0))(t)
		ast.FileExports(f)
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
				continue
			}
			if f, ok := d.(*ast.FuncDecl); ok {
				if f.Name.Name == "Open" { // a method of a type that isn't exported
					continue
				}
				f.Body = nil
			}
			var text strings.Builder
			must.OK(t, printer.Fprint(&text, token.NewFileSet(), d))
			lines = append(lines, text.String()+"\n")
		}
	}
	slices.Sort(lines)
	have := strings.Join(lines, "")
	const path = "testdata/api.txt"
	if *update {
		must.OK(t, os.WriteFile(path, []byte(have), 0o666))
	}
	want := must.Get(os.ReadFile(path))(t)
	if have != string(want) {
		t.Errorf("the package exports\n%s\nwant\n%s\ntry -update, and see COMPATIBILITY.md", have, want)
	}
}
