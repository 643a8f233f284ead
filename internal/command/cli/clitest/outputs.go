package clitest

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/rules-btf/rules_btf/internal/command/cli"
)

// Out is where the outputs are in the command lines of AllOrNone.
const Out = "{out}"

// AllOrNone runs command lines with several outputs, in each of which the outputs are below Out, on
// disks that are full sooner or later, and with each output in turn being a device that is full. It
// wants all outputs, or those that were there before and an error.
func AllOrNone(t *testing.T, program func() *cobra.Command, commands ...[]string) {
	for _, command := range commands {
		t.Run(command[0], func(t *testing.T) {
			c := &outputs{program: program, command: command}
			ample := t.TempDir()
			if code, stderr := c.run(ample); code != 0 {
				t.Fatalf("%q: exit code %d\n%s", command, code, stderr)
			}
			if c.names = slices.Sorted(maps.Keys(files(t, ample))); len(c.names) < 2 {
				t.Fatalf("%q: the outputs are %q; want several", command, c.names)
			}
			c.devices(t)
			for _, old := range []bool{false, true} {
				c.disks(t, old)
			}
		})
	}
}

// outputs is a command line and the names of its outputs.
type outputs struct {
	program func() *cobra.Command
	command []string
	names   []string
}

func (c *outputs) run(out string) (code int, stderr string) {
	args := slices.Clone(c.command)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], Out, out)
	}
	var text bytes.Buffer
	code = cli.Execute(c.program, args, nil, &text, &text)
	return code, text.String()
}

// fails wants the command to fail, and nothing in the directory to be new or gone.
func (c *outputs) fails(t *testing.T, out string, before map[string]string, why string) {
	t.Helper()
	code, stderr := c.run(out)
	c.unchanged(t, out, code, stderr, before, why)
}

func (c *outputs) unchanged(t *testing.T, out string, code int, stderr string,
	before map[string]string, why string) {
	t.Helper()
	if code != 1 || !strings.Contains(stderr, "no space left") || strings.Contains(stderr, ".tmp") ||
		strings.Count(stderr, "\n") != 1 {
		t.Errorf("%q with %s: exit code %d, %s", c.command, why, code, stderr)
	}
	if after := files(t, out); !maps.Equal(before, after) {
		t.Errorf("%q with %s: there was %v, there is %v", c.command, why,
			slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
	}
}

// devices makes each of the outputs a device that is full, if it is not a directory.
func (c *outputs) devices(t *testing.T) {
	for _, name := range c.names {
		for _, arg := range c.command {
			flag, path, ok := strings.Cut(arg, Out)
			if !ok || path != "/"+name {
				continue
			}
			full := outputs{program: c.program, command: slices.Clone(c.command)}
			full.command[slices.Index(full.command, arg)] = flag + "/dev/full"
			full.fails(t, t.TempDir(), map[string]string{}, "a device that is full")
		}
	}
}

// disks runs the command on disks of one page, two pages, and so on until it succeeds. With old,
// files are there already.
func (c *outputs) disks(t *testing.T, old bool) {
	failures := 0
	for pages := 1; pages < 1000; pages++ {
		dir := disk(t, pages)
		if old && !c.putOld(dir) {
			continue // not even these have room
		}
		before := files(t, dir)
		code, stderr := c.run(dir)
		if old && strings.Contains(stderr, "is not empty") {
			return // an output directory must be new
		}
		if code == 0 {
			if after := slices.Sorted(maps.Keys(files(t, dir))); !slices.Equal(after, c.names) {
				t.Errorf("%q wrote %q, want %q", c.command, after, c.names)
			}
			if failures == 0 {
				t.Errorf("%q needs %d pages, and doesn't fail with less", c.command, pages)
			}
			return
		}
		failures++
		c.unchanged(t, dir, code, stderr, before, "a disk that is full")
		if t.Failed() {
			return
		}
	}
	t.Errorf("%q: no disk is large enough", c.command)
}

// putOld puts a file in place of each output, and reports whether that worked.
func (c *outputs) putOld(dir string) bool {
	for _, name := range c.names {
		path := filepath.Join(dir, name)
		if os.MkdirAll(filepath.Dir(path), 0o777) != nil ||
			os.WriteFile(path, []byte("old"), 0o666) != nil {
			return false
		}
	}
	return true
}

// disk makes a file system of a few pages.
func disk(t *testing.T, pages int) string {
	t.Helper()
	dir := t.TempDir()
	size := fmt.Sprint("size=", pages*os.Getpagesize())
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, size); err != nil {
		t.Skipf("SKIPPED: a file system of %s can't be mounted: %v", size, err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// files is the content of all files below a directory.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		found[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
