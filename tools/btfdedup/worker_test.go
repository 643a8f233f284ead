package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/worker"
	"github.com/rules-btf/rules_btf/internal/command/worker/workertest"
)

// TestWorker links on bases in a worker, many links at the same time, and compares the results with
// those of processes. Each link has its base at the same path of its own directory: one with other
// content must not be taken for it.
func TestWorker(t *testing.T) {
	root := t.TempDir()
	t.Chdir(root)
	const links = 120
	var requests []worker.Request
	wants := map[int32][]byte{}
	link := []string{"link", "-j", "2"}
	args := []string{"-o", "out.btf", "--skipped", "out.skipped", "--base", "base.btf", "module.btfo"}
	for id := int32(1); id <= links; id++ {
		dir := fmt.Sprintf("sandbox/%d", id)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		rawBTF(t, filepath.Join(dir, "base.btf"), fmt.Sprint("s", id%3), uint32(id)%5*4+4)
		raw := filepath.Join(dir, "module.btf")
		rawBTF(t, raw, fmt.Sprint("s", id%2), uint32(id)%5*4+4)
		if code, _, stderr := btfdedup("merge", "-o", raw+"o", raw); code != 0 {
			t.Fatal(stderr)
		}
		t.Chdir(dir)
		var out, errs bytes.Buffer
		code := cli.Execute(program, append(link, args...), nil, &out, &errs)
		if code != 0 || out.Len()+errs.Len() != 0 {
			t.Fatalf("code %d: %s%s", code, &out, &errs)
		}
		wants[id] = contentOf(t, "out.btf")
		os.Remove("out.btf")
		t.Chdir(root)
		q := worker.Request{Arguments: args, ID: id, SandboxDir: dir}
		if id%10 == 0 { // the base is no BTF
			if err := os.WriteFile(filepath.Join(dir, "base.btf"), []byte("text"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		requests = append(requests, q)
	}
	got := workertest.Ask(t, program, link, requests)
	for _, q := range requests {
		r := got[q.ID]
		out, err := os.ReadFile(filepath.Join(q.SandboxDir, "out.btf"))
		if q.ID%10 == 0 {
			if r.ExitCode != 1 || !strings.HasPrefix(r.Output, "btfdedup: base.btf: ") || err == nil {
				t.Errorf("%d: %+v (%v)", q.ID, r, err)
			}
			continue
		}
		if r.ExitCode != 0 || r.Output != "" || !bytes.Equal(out, wants[q.ID]) {
			t.Errorf("%d: %+v; not as from a process (%v)", q.ID, r, err)
		}
	}
}

func contentOf(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
