package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestDrawings wants the drawings to be what the checked-in model and docs/remote.md give.
func TestDrawings(t *testing.T) {
	const docs = "../../../docs"
	dir := t.TempDir()
	if err := draw("model.json", filepath.Join(docs, "remote.md"), dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"graph.svg", "sizes.svg", "edits.svg"} {
		want, err := os.ReadFile(filepath.Join(docs, "img", name))
		got, err2 := os.ReadFile(filepath.Join(dir, name))
		if err != nil || err2 != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/img/%s isn't what buildplots draw writes (%v, %v)", name, err, err2)
		}
	}
}

// TestReadEdits reads a table like that of docs/remote.md.
func TestReadEdits(t *testing.T) {
	const page = "# x\n\n| edit | makes | `BtfGen` | `BtfLink` |\n|---|---|--:|--:|\n" +
		"| nothing | vmlinux | 769, 108 | 8 |\n| a type: in a file | vmlinux | 2 | 1 |\n\n| other |\n"
	edits, err := readEdits(page)
	if err != nil || len(edits) != 2 || edits[0].name != "nothing" ||
		!slices.Equal(edits[0].runs, []int{108, 8}) || !slices.Equal(edits[1].runs, []int{2, 1}) {
		t.Errorf("%v, %v", edits, err)
	}
	for _, page := range []string{"", "\n| edit | x | y |\n|---|---|---|\n| a | b | none |\n\n"} {
		if _, err := readEdits(page); err == nil {
			t.Errorf("%q is no error", page)
		}
	}
}
