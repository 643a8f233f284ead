// Command buildplots draws what a build of a kernel's BTF was: the graph with how long each kind of
// action took, the sizes of the results, and what edits run again.
//
//	buildplots measure --log LOG --profile PROFILE --model FILE
//	buildplots draw --model FILE --remote docs/remote.md --plots docs/img
//
// LOG and PROFILE are of one build from nothing, by Bazel's flags --execution_log_compact_file and
// --profile. What edits run again is in a table of docs/remote.md.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("buildplots: ")
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(args []string) error {
	var logFile, profile, modelFile, remote, plots string
	flags := pflag.NewFlagSet("buildplots", pflag.ContinueOnError)
	flags.StringVar(&logFile, "log", "", "compact execution log")
	flags.StringVar(&profile, "profile", "", "Bazel's profile (JSON, compressed with gzip)")
	flags.StringVar(&modelFile, "model", "e2e/cmd/buildplots/model.json", "what was measured")
	flags.StringVar(&remote, "remote", "docs/remote.md", "the page with the table of edits")
	flags.StringVar(&plots, "plots", "docs/img", "directory of the drawings")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch flags.Arg(0) {
	case "measure":
		m, err := measure(logFile, profile)
		if err != nil {
			return err
		}
		data, err := json.MarshalIndent(m, "", "  ")
		if err != nil {
			return err
		}
		return os.WriteFile(modelFile, append(data, '\n'), 0o666)
	case "draw":
		return draw(modelFile, remote, plots)
	}
	return errors.New("measure or draw?")
}

// draw writes the drawings.
func draw(modelFile, remote, plots string) error {
	data, err := os.ReadFile(modelFile)
	if err != nil {
		return err
	}
	var m model
	if err := json.Unmarshal(data, &m); err != nil {
		return fmt.Errorf("%s: %w", modelFile, err)
	}
	page, err := os.ReadFile(remote)
	if err != nil {
		return err
	}
	edits, err := readEdits(string(page))
	if err != nil {
		return fmt.Errorf("%s: %w", remote, err)
	}
	for name, svg := range map[string][]byte{
		"graph.svg": graphSVG(&m), "sizes.svg": sizesSVG(&m), "edits.svg": editsSVG(edits),
	} {
		if err := os.WriteFile(filepath.Join(plots, name), svg, 0o666); err != nil {
			return err
		}
	}
	return nil
}
