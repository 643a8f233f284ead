package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSplit splits a file into a directory, and into files of given names.
func TestSplit(t *testing.T) {
	dir := t.TempDir()
	input := filepath.Join(objects, "whole-gcc.elf")
	shards := filepath.Join(dir, "shards")
	if code, _, stderr := btfgen("split", "-n", "3", "-o", shards, input); code != 0 {
		t.Fatal(stderr)
	}
	args := []string{"split", input}
	for i := range 3 {
		args = append(args, "-o", filepath.Join(dir, fmt.Sprint(i+1)))
	}
	stats := filepath.Join(dir, "stats")
	if code, _, stderr := btfgen(append(args, "--stats", stats)...); code != 0 {
		t.Fatal(stderr)
	}
	size := int64(0)
	for i := range 3 {
		a, err := os.ReadFile(filepath.Join(shards, fmt.Sprintf("shard-%d-of-3", i+1)))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(i+1)))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("shard %d is another one in the directory", i+1)
		}
		size += int64(len(a))
	}
	text, err := os.ReadFile(stats)
	if err != nil {
		t.Fatal(err)
	}
	if got := readStats(t, text).Output.Bytes; got != size {
		t.Errorf("the statistics say %d bytes, there are %d", got, size)
	}
}

// TestSplitErrors wants one line and no output.
func TestSplitErrors(t *testing.T) {
	dir := t.TempDir()
	input := filepath.Join(objects, "whole-gcc.elf")
	bad := filepath.Join(dir, "bad")
	if err := os.WriteFile(bad, []byte("no ELF file"), 0o666); err != nil {
		t.Fatal(err)
	}
	out, other := filepath.Join(dir, "out"), filepath.Join(dir, "other")
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{2, "from 1 to 4096", []string{"-n", "0", "-o", out, input}},
		{2, "from 1 to 4096", []string{"-n", "many", "-o", out, input}},
		{2, "-n with several -o", []string{"-n", "2", "-o", out, "-o", other, input}},
		{2, "name one output", []string{"-o", out, "-o", out, input}},
		{2, "-o and --stats name one output", []string{"-o", out, "--stats", out, input}},
		{2, "is also an input", []string{"-o", bad, bad}},
		{2, "unknown language", []string{"-o", out, "--lang-exclude=klingon", input}},
		{1, "not an ELF file", []string{"-o", out, "-o", other, bad}},
		{1, "not an ELF file", []string{"-n", "2", "-o", out, bad}},
		{1, "split DWARF", []string{"-o", out, filepath.Join(objects, "split-5.o")}},
		{1, "is not empty", []string{"-n", "2", "-o", dir, input}},
	} {
		code, stdout, stderr := btfgen(append([]string{"split"}, c.args...)...)
		if code != c.code || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 ||
			stdout != "" {
			t.Errorf("%q: exit code %d, want %d and %q: %s", c.args, code, c.code, c.want, stderr)
		}
		left, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(left) != 1 {
			t.Fatalf("%q left %q", c.args, left)
		}
	}
}
