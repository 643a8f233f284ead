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
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// Out is the placeholder for the output directory in the command lines for AllOrNone.
const Out = "{out}"

// AllOrNone tests command lines with several outputs, whose paths begin with Out. It replaces one
// output at a time by a full device, and then runs the command lines on disks that are too small.
// Each run must write all outputs, or fail and leave the files unchanged.
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

// fails runs the command, which must fail and leave the files in the directory unchanged.
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
		t.Errorf("%q with %s: files before: %v, files after: %v", c.command, why,
			slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
	}
}

// devices runs the command once for each output file, with /dev/full in place of that file.
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

// disks runs the command on disks of one page, two pages, and so on until it succeeds. If the
// parameter old is set, the output files already exist.
func (c *outputs) disks(t *testing.T, old bool) {
	failures := 0
	for pages := 1; pages < 1000; pages++ {
		dir := disk(t, pages)
		if old && !c.putOld(dir) {
			continue // there is no room even for the old files
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
				t.Errorf("%q needs %d pages, but never failed with fewer", c.command, pages)
			}
			return
		}
		failures++
		c.unchanged(t, dir, code, stderr, before, "a disk that is full")
		if t.Failed() {
			return
		}
	}
	t.Errorf("%q: fails even on the largest disk tried", c.command)
}

// putOld writes an old file at the path of each output, and reports whether there was room for all.
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

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	must.OK(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		found[name] = string(data)
		return err
	}))
	return found
}
