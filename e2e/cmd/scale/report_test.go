package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"
)

// TestDocument wants docs/scale.md and its drawing to be what the checked-in model gives.
func TestDocument(t *testing.T) {
	const model, doc, img = "../../scale/model.json", "../../../docs/scale.md", "../../../docs/img"
	want, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "scale.md")
	if err := os.WriteFile(path, want, 0o666); err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("report", pflag.ContinueOnError)
	command := reportCommand(flags)
	if err := flags.Parse([]string{"--model", model, "--doc", path, "--plots", dir}); err != nil {
		t.Fatal(err)
	}
	if err := command(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/scale.md isn't what e2e/scale/run report writes (%v)", err)
	}
	drawing, err := os.ReadFile(filepath.Join(img, "scale.svg"))
	if got, err2 := os.ReadFile(filepath.Join(dir, "scale.svg")); err != nil || err2 != nil ||
		!bytes.Equal(got, drawing) {
		t.Errorf("docs/img/scale.svg isn't what e2e/scale/run report writes (%v, %v)", err, err2)
	}
}

// TestReadEvents reads the end of what Bazel 7.7 writes with --build_event_json_file.
func TestReadEvents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	const text = `{"id":{"started":{}},"started":{"uuid":"x"}}
{"id":{"buildMetrics":{}},"buildMetrics":{"actionSummary":{"actionData":[{"mnemonic":"BtfGen",` +
		`"actionsExecuted":"777","systemTime":"2.5s","userTime":"10s"}]},` +
		`"timingMetrics":{"executionPhaseTimeInMs":"42000"}}}
`
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := readEvents(path)
	if err != nil || r.wall != 42 || r.actions["BtfGen"] != 777 || r.cpu["BtfGen"] != 12.5 {
		t.Errorf("%+v, %v", r, err)
	}
	if err := os.WriteFile(path, []byte(`{"id":{}}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := readEvents(path); err == nil {
		t.Error("no error without metrics")
	}
}
