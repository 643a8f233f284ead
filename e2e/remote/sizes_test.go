package remote

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

var sizes = flag.Bool("sizes", false, "print the costs of the actions of each mnemonic")

// usage is what one run of a tool used. The command e2e/remote/meter writes a file for each run.
type usage struct {
	Verb    string
	CPU     float64 // seconds
	Memory  int64   // the peak resident memory, in KiB
	In, Out int64   // the size of the files read and written, in bytes
	InFiles int
}

// verbMnemonics maps the tools' verbs to mnemonics.
var verbMnemonics = map[string]string{"object": "BtfGen", "merge": "BtfMerge", "facts": "BtfFacts",
	"link": "BtfLink", "index": "BtfBase"}

// TestSizes builds the BTF of a kernel with tools that record the cost of each run. For each
// mnemonic, it prints the median and the largest cost, with two values of the flag grain.
func TestSizes(t *testing.T) {
	if !*sizes {
		t.Skip("SKIPPED: e2e/remote/run --sizes runs it")
	}
	m := kernel(t, harness.Kernel(t))
	notes := filepath.Join(m.scratch, "notes")
	for _, tool := range []string{"btfgen", "btfdedup"} {
		out := filepath.Join(m.dir, "prebuilt/files", tool)
		harness.MustRun(t, harness.Repo(), "go", "build", "-o", out, "-ldflags",
			fmt.Sprintf("-X main.tool=%s -X main.notes=%s", harness.Tool(t, tool), notes),
			"./e2e/remote/meter")
	}
	for _, grain := range []string{grainObject, grain16} {
		if err := os.RemoveAll(notes); err != nil {
			t.Fatal(err)
		}
		ran := counts(m.must("--spawn_strategy=local", "--jobs=1", grain).spawns)
		byName := map[string][]usage{}
		for _, file := range filesBelow(t, notes) {
			var u usage
			if err := json.Unmarshal(harness.ReadFile(t, file), &u); err != nil {
				t.Fatal(err)
			}
			name := verbMnemonics[u.Verb]
			byName[name] = append(byName[name], u)
		}
		for name, uses := range byName {
			if len(uses) != ran[name].ran() {
				t.Errorf("%s: %d records for %d runs", name, len(uses), ran[name].ran())
			}
		}
		fmt.Printf("\n%s\n\n", grain)
		printSizes(byName)
	}
}

func printSizes(byName map[string][]usage) {
	fmt.Println("| mnemonic | actions | CPU ms | peak memory MB | KB in | files in | KB out |")
	fmt.Println("|---|--:|--:|--:|--:|--:|--:|")
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		uses := byName[name]
		row := []string{name, fmt.Sprint(len(uses))}
		for _, value := range []func(usage) float64{
			func(u usage) float64 { return u.CPU * 1000 },
			func(u usage) float64 { return float64(u.Memory) / 1000 },
			func(u usage) float64 { return float64(u.In) / 1000 },
			func(u usage) float64 { return float64(u.InFiles) },
			func(u usage) float64 { return float64(u.Out) / 1000 },
		} {
			sort.Slice(uses, func(i, j int) bool { return value(uses[i]) < value(uses[j]) })
			row = append(row, fmt.Sprintf("%.0f … %.0f", value(uses[len(uses)/2]),
				value(uses[len(uses)-1])))
		}
		fmt.Println("| " + strings.Join(row, " | ") + " |")
	}
}
