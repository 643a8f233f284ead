package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestDescriptors writes outputs whose paths lead to open files of the process: the outputs are
// written through the descriptors, and the links remain.
func TestDescriptors(t *testing.T) {
	if path := os.Getenv("CLI_TEST_DESCRIPTOR"); path != "" {
		if err := WriteFile(path, write("new", nil)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	open := func(dir string, flag int) *os.File {
		f := must.Get(os.OpenFile(filepath.Join(dir, "log"), flag|os.O_RDWR|os.O_CREATE, 0o666))(t)
		return f
	}
	for _, c := range []struct {
		name string
		open func(dir string) *os.File
		want string
	}{
		{"new file", func(dir string) *os.File { return open(dir, 0) }, "new"},
		{"appended to", func(dir string) *os.File {
			f := open(dir, os.O_APPEND)
			f.WriteString("old")
			f.Seek(0, io.SeekStart)
			return f
		}, "oldnew"},
		{"in the middle", func(dir string) *os.File {
			f := open(dir, 0)
			f.WriteString("old")
			return f
		}, "oldnew"},
		{"without a name", func(dir string) *os.File {
			f := open(dir, 0)
			os.Remove(f.Name())
			return f
		}, "new"},
	} {
		for _, end := range []string{"/proc/self/fd/1", "/dev/fd/3", "/proc/thread-self/fd/3"} {
			t.Run(c.name+", "+end, func(t *testing.T) {
				dir := t.TempDir()
				link, second := filepath.Join(dir, "link"), filepath.Join(dir, "second")
				must.OK(t, errors.Join(os.Symlink(end, link), os.Symlink("link", second)))
				f := c.open(dir)
				defer f.Close()
				cmd := exec.Command(os.Args[0], "-test.run=^TestDescriptors$")
				cmd.Env = append(os.Environ(), "CLI_TEST_DESCRIPTOR="+second)
				cmd.Stdout, cmd.ExtraFiles = f, []*os.File{f}
				var stderr strings.Builder
				cmd.Stderr = &stderr
				if err := cmd.Run(); err != nil {
					t.Errorf("%v: %s", err, stderr.String())
				}
				got, err := os.ReadFile(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
				if string(got) != c.want || err != nil {
					t.Errorf("the file has %q, want %q, %v", got, c.want, err)
				}
				for path, want := range map[string]string{link: end, second: "link"} {
					if to, err := os.Readlink(path); to != want {
						t.Errorf("%s leads to %q now, %v", path, to, err)
					}
				}
			})
		}
	}
}

// TestFollow writes through links to missing files.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	for from, to := range map[string]string{"a": "sub/b", "sub/b": "../c", "around": "around",
		"dir": "sub/new", "full": "sub", "empty": "void", "lost": "no/where"} {
		must.OK(t, errors.Join(os.MkdirAll(p("sub"), 0o777), os.Symlink(to, p(from))))
	}
	err := errors.Join(WriteFile(p("a"), write("new", nil)), os.Mkdir(p("void"), 0o777))
	if err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(p("c")); string(got) != "new" {
		t.Errorf("the end of the links has %q, %v", got, err)
	}
	fill := func(temp string) error { return os.WriteFile(temp+"/file", []byte("new"), 0o666) }
	for _, name := range []string{"dir", "empty/"} {
		if err := writeDir(p(name), fill); err != nil {
			t.Error(err)
		}
		if got, err := os.ReadFile(p(name + "/file")); string(got) != "new" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if err := writeDir(p("full"), fill); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Error(err)
	}
	if err := WriteFile(p("around"), write("new", nil)); !errors.Is(err, syscall.ELOOP) {
		t.Error(err)
	}
	if err := WriteFile(p("lost"), write("new", nil)); err == nil ||
		!strings.HasSuffix(err.Error(), "make the directory "+p("no")+" first") {
		t.Error(err)
	}
	for _, name := range []string{"a", "sub/b", "dir", "empty", "lost", "around"} {
		if info, err := os.Lstat(p(name)); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more", name)
		}
	}
}
