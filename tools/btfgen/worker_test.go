package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/command/worker"
	"github.com/rules-btf/rules_btf/internal/command/worker/workertest"
)

// TestWorker asks a worker for hundreds of objects at the same time, in their own directories
// and with bad requests between them, and compares each with what a process gives.
func TestWorker(t *testing.T) {
	stored, err := filepath.Glob(filepath.Join(objects, "*.o"))
	if err != nil || len(stored) == 0 {
		t.Fatal("no stored objects", err)
	}
	root := t.TempDir()
	write := func(name string, data []byte) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	type want struct {
		code   int
		output string
		data   []byte
	}
	contents := map[string][]byte{}
	for _, path := range stored {
		contents[filepath.Base(path)] = read(t, path)
	}
	t.Chdir(filepath.Dir(stored[0])) // a process names its input as the worker does
	alone := map[string]want{}
	for _, path := range stored {
		in, out := filepath.Base(path), filepath.Join(root, "alone")
		code, stdout, stderr := btfgen("object", "-j", "1", "-o", out, in)
		w := want{code: code, output: stdout + stderr}
		if code == 0 {
			w.data = read(t, out)
		}
		alone[in] = w
	}
	t.Chdir(root)
	var requests []worker.Request
	var inputs []string
	add := func(in string, args ...string) string {
		id := len(requests) + 1
		dir := fmt.Sprintf("sandbox/%d/main", id)
		requests = append(requests, worker.Request{Arguments: args, ID: int32(id), SandboxDir: dir})
		inputs = append(inputs, in)
		return dir
	}
	for range 5 {
		for _, path := range stored {
			in := filepath.Base(path)
			dir := add(in, "-o", "out/x.btfo", in)
			write(filepath.Join(dir, in), contents[in])
			write(filepath.Join(dir, "out/other"), nil)
			switch len(requests) % 3 {
			case 1: // by a parameter file
				write(filepath.Join(dir, "params"), []byte("-o\nout/x.btfo\n"+in+"\n"))
				requests[len(requests)-1].Arguments = []string{"@params"}
			case 2: // a bad request
				add("", "-o", "out/x.btfo", "missing.o")
				add("", "--no-such-flag")
			}
		}
	}
	got := workertest.Ask(t, program, []string{"object", "-j", "1"}, requests)
	for i, q := range requests {
		r, w := got[q.ID], alone[inputs[i]]
		out, err := os.ReadFile(filepath.Join(q.SandboxDir, "out/x.btfo"))
		switch {
		case inputs[i] == "" && q.Arguments[0] == "-o":
			w = want{code: 1, output: "btfgen: stat missing.o: no such file or directory\n"}
		case inputs[i] == "":
			w = want{code: 2, output: r.Output}
			if !strings.Contains(r.Output, "no-such-flag") {
				t.Errorf("%v: %s", q.Arguments, r.Output)
			}
		}
		if int(r.ExitCode) != w.code || r.Output != w.output {
			t.Errorf("%v: code %d, want %d, with %q, want %q", q.Arguments, r.ExitCode, w.code, r.Output,
				w.output)
		}
		if (err == nil) != (w.code == 0) || !bytes.Equal(out, w.data) {
			t.Errorf("%v: %s is not as from a process (%v)", q.Arguments, inputs[i], err)
		}
	}
	left, _ := filepath.Glob("sandbox/*/main/out/.*")
	if len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// TestWorkerVerbs: a worker does the verbs that were made for it, named by the request or by its
// own arguments.
func TestWorkerVerbs(t *testing.T) {
	in, err := filepath.Abs(filepath.Join(objects, "machine-x86_64.o"))
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	got := workertest.Ask(t, program, nil, []worker.Request{
		{Arguments: []string{"object", "-o", out, in}, ID: 1},
		{Arguments: []string{"elf", "-o", out, in}, ID: 2},
		{Arguments: []string{"--version"}, ID: 3},
		{ID: 4},
	})
	for id, want := range map[int32]string{1: "", 2: "not available in a persistent worker",
		3: "btfgen ", 4: "a command is missing"} {
		if r := got[id]; !strings.Contains(r.Output, want) || (r.ExitCode == 2) != (id%2 == 0) {
			t.Errorf("%d: %+v, want %q", id, r, want)
		}
	}
}
