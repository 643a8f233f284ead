package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

func write(s string, err error) func(io.Writer) error {
	return func(w io.Writer) error {
		if _, err := io.WriteString(w, s); err != nil {
			return err
		}
		return err
	}
}

// onlyFiles fails the test unless the directory holds exactly the files in want.
func onlyFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the directory holds %q, want %q", got, want)
	}
}

func TestWriteFile(t *testing.T) {
	old := syscall.Umask(0o022)
	defer syscall.Umask(old)
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	must.OK(t, WriteFile(path, write("first", nil)))
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o644 {
		t.Errorf("mode %v, %v; want 0644", info.Mode(), err)
	}
	broken := errors.New("broken")
	if err := WriteFile(path, write("second", broken)); err != broken {
		t.Errorf("error %v, want that of the writer", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is lost")
			}
		}()
		WriteFile(path, func(io.Writer) error { panic("in the middle") })
	}()
	if data, _ := os.ReadFile(path); string(data) != "first" {
		t.Errorf("after failures the file holds %q", data)
	}
	onlyFiles(t, dir, "out")
	syscall.Umask(0o077)
	link := filepath.Join(dir, "link")
	must.OK(t, os.Symlink("out", link))
	must.OK(t, WriteFile(link, write("third", nil)))
	if info, _ := os.Lstat(link); info.Mode()&os.ModeSymlink == 0 {
		t.Error("the symbolic link was replaced")
	}
	info, _ := os.Stat(path)
	if data, _ := os.ReadFile(path); string(data) != "third" || info.Mode() != 0o600 {
		t.Errorf("through the link: %q, mode %v; want third, 0600", data, info.Mode())
	}
	onlyFiles(t, dir, "link", "out")
}

// TestKeepMode replaces a program, through a symbolic link.
func TestKeepMode(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "program"), filepath.Join(dir, "link")
	must.OK(t, errors.Join(os.WriteFile(path, []byte("old"), 0o600), os.Chmod(path, 0o751),
		os.Symlink("program", link)))
	env := &Env{}
	must.OK(t, env.WriteOutputs(Artifact{Path: link, File: write("new", nil), KeepMode: true},
		Artifact{Path: filepath.Join(dir, "other"), File: write("", nil), KeepMode: true}))
	info, err := os.Stat(path)
	if data, _ := os.ReadFile(path); err != nil || string(data) != "new" || info.Mode() != 0o751 {
		t.Errorf("%q, %v, %v", data, info.Mode(), err)
	}
	onlyFiles(t, dir, "link", "other", "program")
}

func TestWriteFileRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := WriteFile(dir, write("x", nil)); err == nil ||
		!strings.Contains(err.Error(), "is a directory") {
		t.Error("a directory:", err)
	}
	missing := filepath.Join(dir, "no", "out")
	if err := WriteFile(missing, write("x", nil)); err == nil ||
		!strings.Contains(err.Error(), missing+": no such file or directory") ||
		!strings.HasSuffix(err.Error(), "; make the directory "+filepath.Dir(missing)+" first") ||
		strings.Contains(err.Error(), ".tmp") {
		t.Error("a missing directory:", err)
	}
	// /proc exists, but creating a file in it fails with "no such file".
	if err := WriteFile("/proc/x", write("x", nil)); err == nil ||
		!strings.HasPrefix(err.Error(), "output: create /proc/x: ") ||
		strings.Contains(err.Error(), "make the directory") {
		t.Error("/proc:", err)
	}
	onlyFiles(t, dir)
}

func TestWriteFileToDevice(t *testing.T) {
	before, err := os.Stat("/dev/null")
	if err != nil {
		t.Skip("SKIPPED:", err)
	}
	must.OK(t, WriteFile("/dev/null", write("x", nil)))
	if after, err := os.Stat("/dev/null"); err != nil || after.Mode() != before.Mode() {
		t.Errorf("/dev/null is now %v, %v", after, err)
	}
}

func TestWriteOutput(t *testing.T) {
	var stdout bytes.Buffer
	env := &Env{Stdout: &stdout}
	if err := env.WriteOutput("-", write("half", errors.New("broken"))); err == nil ||
		stdout.Len() > 0 {
		t.Errorf("a failure left %q on stdout, %v", stdout.String(), err)
	}
	if err := env.WriteOutput("-", write("whole", nil)); err != nil || stdout.String() != "whole" {
		t.Errorf("stdout holds %q, %v", stdout.String(), err)
	}
}

// TestWriteOutputs writes a file b, a directory d and a file a, with a failure at each step. These
// outputs appear in this order, each complete, and none before the content of all is complete.
func TestWriteOutputs(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name  string
		a     func(dir string) error // while a is written
		d, b  error
		after func(dir string) error // when all content is complete
		want  string                 // part of the error
		left  string                 // what is there afterwards, if that has changed
	}{
		{name: "success"},
		{name: "a fails", a: func(string) error { return broken }, want: "broken"},
		{name: "d fails", d: broken, want: "broken"},
		{name: "b fails", b: broken, want: "broken"},
		{name: "a can't take its place", want: "output ",
			after: func(dir string) error { return os.MkdirAll(filepath.Join(dir, "a/in/the/way"), 0o777) },
			left:  "a\na/in\na/in/the\na/in/the/way\nb new\nd\nd/f new\n"},
		{name: "d can't take its place", want: "output ",
			after: func(dir string) error { return os.MkdirAll(filepath.Join(dir, "d/in/the/way"), 0o777) },
			left:  "b new\nd\nd/in\nd/in/the\nd/in/the/way\n"},
		{name: "standard output fails", want: "closed"},
	} {
		for _, old := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, old %v", c.name, old), func(t *testing.T) {
				dir := t.TempDir()
				p := func(name string) string { return filepath.Join(dir, name) }
				if old {
					for _, name := range []string{"a", "b"} {
						if name == "a" && c.after != nil {
							continue // something else will be there
						}
						must.OK(t, os.WriteFile(p(name), []byte("old"), 0o600))
					}
					must.OK(t, os.Mkdir(p("d"), 0o777))
				}
				before := listing(t, dir)
				env := &Env{Stdout: io.Discard}
				if c.want == "closed" {
					r, w := io.Pipe()
					r.CloseWithError(errors.New("closed"))
					env.Stdout = w
				}
				err := env.WriteOutputs(
					Artifact{Path: p("a"), File: func(w io.Writer) error {
						io.WriteString(w, "new")
						if c.a != nil {
							return c.a(dir)
						}
						return nil
					}},
					Artifact{Path: p("d"), Dir: func(temp string) error {
						return errors.Join(os.WriteFile(filepath.Join(temp, "f"), []byte("new"), 0o666), c.d)
					}},
					Artifact{Path: p("b"), File: func(w io.Writer) error {
						io.WriteString(w, "new")
						if c.after != nil {
							must.OK(t, c.after(dir))
						}
						return c.b
					}},
					Artifact{Path: "-", File: write("new", nil)})
				after := listing(t, dir)
				if c.want == "" {
					if want := "a new\nb new\nd\nd/f new\n"; err != nil || after != want {
						t.Errorf("there is %q, want %q; error %v", after, want, err)
					}
					return
				}
				if err == nil || !strings.Contains(err.Error(), c.want) ||
					strings.Contains(err.Error(), ".tmp") {
					t.Errorf("error %v, want %q", err, c.want)
				}
				if c.left != "" {
					before = c.left
				}
				if before != after {
					t.Errorf("there was %q, there is %q", before, after)
				}
			})
		}
	}
}

// listing returns a line for each file and directory below dir, with the content of the files.
func listing(t *testing.T, dir string) string {
	t.Helper()
	text := ""
	must.OK(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if path == dir || err != nil {
			return err
		}
		text += strings.TrimPrefix(path, dir+"/")
		if !d.IsDir() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(data)
		}
		text += "\n"
		return nil
	}))
	return text
}

// TestSignalRemovesTemporaries interrupts a process in the middle of writing a file, or a directory
// of files.
func TestSignalRemovesTemporaries(t *testing.T) {
	switch out := os.Getenv("CLI_TEST_OUTPUT"); filepath.Base(out) {
	case "file":
		removeTempsOnSignal()
		WriteFile(out, func(io.Writer) error {
			os.Stdout.WriteString("writing\n")
			time.Sleep(time.Minute)
			return nil
		})
		return
	case "dir":
		AtSignal(func() { os.Stdout.WriteString("interrupted\n") })
		removeTempsOnSignal()
		writeDir(out, func(temp string) error {
			for thread := range 4 {
				go func() {
					for i := 0; ; i++ {
						os.WriteFile(fmt.Sprintf("%s/%d.%d", temp, thread, i), []byte("text"), 0o644)
					}
				}()
			}
			os.Stdout.WriteString("writing\n")
			time.Sleep(time.Minute)
			return nil
		})
		return
	}
	for _, kind := range []string{"file", "dir"} {
		dir := t.TempDir()
		cmd := exec.Command(os.Args[0], "-test.run=^TestSignalRemovesTemporaries$")
		cmd.Env = append(os.Environ(), "CLI_TEST_OUTPUT="+filepath.Join(dir, kind))
		stdout := must.Get(cmd.StdoutPipe())(t)
		must.OK(t, cmd.Start())
		must.Get(io.ReadFull(stdout, make([]byte, len("writing\n"))))(t)
		if entries, _ := os.ReadDir(dir); len(entries) != 1 {
			t.Errorf("%s: %d files while writing, want 1", kind, len(entries))
		}
		cmd.Process.Signal(syscall.SIGTERM)
		rest, _ := io.ReadAll(stdout)
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 128+15 {
			t.Errorf("%s: exit code %d, want 143", kind, code)
		}
		if called := string(rest) == "interrupted\n"; called != (kind == "dir") {
			t.Errorf("%s: the process wrote %q when it was interrupted", kind, rest)
		}
		onlyFiles(t, dir)
	}
}

// writeDir writes a directory whole or not at all.
func writeDir(path string, write func(dir string) error) error {
	return writeOutputs(nil, Artifact{Path: path, Dir: write})
}

func TestWriteDir(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	fill := func(temp string) error {
		return os.WriteFile(filepath.Join(temp, "file"), []byte("text"),
			0o644)
	}
	for _, path := range []string{p("new"), p("slash") + "/", p("empty")} {
		if path == p("empty") {
			must.OK(t, os.Mkdir(path, 0o755))
		}
		if err := writeDir(path, fill); err != nil {
			t.Error(err)
		}
		if data, err := os.ReadFile(filepath.Join(path, "file")); string(data) != "text" {
			t.Errorf("%s holds %q, %v", path, data, err)
		}
	}
	failed := errors.New("failed")
	err := writeDir(p("bad"), func(temp string) error { return errors.Join(failed, fill(temp)) })
	if !errors.Is(err, failed) {
		t.Errorf("the error is %v", err)
	}
	called := func(string) error { t.Error("called, though nothing can be written"); return nil }
	if err := writeDir(p("new"), called); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("a directory with a file in it: %v", err)
	}
	if err := writeDir(p("new/file"), called); err == nil {
		t.Error("a file is replaced")
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 3 {
		t.Errorf("%v is left (%v)", list, err)
	}
}
