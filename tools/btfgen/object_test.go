package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/object"
)

// mergeFiles merges BTF objects.
func mergeFiles(t *testing.T, paths ...string) []byte {
	t.Helper()
	m := object.NewMerger()
	for _, path := range paths {
		o, err := object.ReadFile(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Add(path, o); err != nil {
			t.Fatal(err)
		}
	}
	data, err := object.Write(m.Object())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestObjectInParts is of the flags that convert a part of a file, or each unit for itself.
func TestObjectInParts(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	in := filepath.Join(objects, "lto-linked-gcc.elf")
	object := func(args ...string) {
		t.Helper()
		if code, stdout, stderr := btfgen(append([]string{"object", in}, args...)...); code != 0 ||
			stdout+stderr != "" {
			t.Fatalf("%v: code %d: %s%s", args, code, stdout, stderr)
		}
	}
	object("-o", p("whole"))
	var shards []string
	for i := range 5 {
		shards = append(shards, p(fmt.Sprint("shard", i)))
		object(fmt.Sprintf("--shard=%d/5", i+1), "-o", shards[i])
	}
	if !bytes.Equal(mergeFiles(t, shards...), read(t, p("whole"))) {
		t.Error("the shards are not the whole")
	}

	if err := os.Mkdir(p("units"), 0o777); err != nil { // an empty one may be there
		t.Fatal(err)
	}
	object("--each-unit", p("units")+"/")
	each, err := filepath.Glob(p("units/*"))
	if err != nil || len(each) != units(t, in) || filepath.Base(each[0]) != "00000.btfo" {
		t.Errorf("%q for %d units (%v)", each, units(t, in), err)
	}
	if !bytes.Equal(mergeFiles(t, each...), read(t, p("whole"))) {
		t.Error("the units are not the whole")
	}
	object("--shard=1/2", "-o", p("half"))
	object("--shard=1/2", "--each-unit", p("some"))
	some, _ := filepath.Glob(p("some/*"))
	if len(some) == 0 || !bytes.Equal(mergeFiles(t, some...), read(t, p("half"))) {
		t.Errorf("%q are not the shard", some)
	}
	for _, path := range some {
		if !bytes.Equal(read(t, path), read(t, filepath.Join(p("units"), filepath.Base(path)))) {
			t.Errorf("%s is not the unit of that number", path)
		}
	}

	archive := p("two.a")
	if out, err := exec.Command("ar", "rc", archive, filepath.Join(objects, "machine-x86_64.o"),
		filepath.Join(objects, "c23-gcc.o")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{in + " --shard=0/2 -o " + p("new"), 2, "is not like 2/8"},
		{in + " --each-unit=" + p("new") + " -o " + p("new.btfo"), 2, "contradict"},
		{in, 2, "-o OUT is missing"},
		{in + " --each-unit=" + p("units"), 1, p("units") + " is not empty"},
		{in + " --each-unit=" + p("whole"), 1, p("whole") + ": not a directory"},
		{in + " --each-unit=" + p("none/new"), 1, p("none/new") + ": no such file"},
		{archive + " --shard=1/2 -o " + p("new"), 1, "archive of 2 members"},
		{archive + " --each-unit=" + p("new"), 1, "archive of 2 members"},
		{filepath.Join(objects, "unencodable.o") + " --each-unit=" + p("new"), 1,
			"DW_TAG_ptr_to_member_type"},
	} {
		code, stdout, stderr := btfgen(append([]string{"object"}, strings.Fields(tt.args)...)...)
		if code != tt.code || stdout != "" || !strings.Contains(stderr, tt.want) ||
			strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: code %d, want %d with %q: %s%s", tt.args, code, tt.code, tt.want, stdout, stderr)
		}
	}
	left, err := filepath.Glob(p("*"))
	hidden, _ := filepath.Glob(p(".*.tmp"))
	if want := len([]string{"whole", "units", "half", "some", "two.a"}) + len(shards); err != nil ||
		len(left) != want || len(hidden) != 0 {
		t.Errorf("%q and %q are left, want %d files (%v)", left, hidden, want, err)
	}
}
