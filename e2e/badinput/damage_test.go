package badinput

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestDamaged runs the verbs on broken files. Several verbs may use the same reader, so one of them
// gets every variant of a file, and the others get only every fourth variant. A verb may accept a
// file whose damage is harmless, but then the verb's output must be valid.
func TestDamaged(t *testing.T) {
	harness.Need(t, "gcc", "ar")
	btfgen, btfdedup := harness.Tool(t, "btfgen"), harness.Tool(t, "btfdedup")
	object := compile(t, "sample.o", "-c", "-g", "-O2")
	dwarf4 := compile(t, "sample4.o", "-c", "-gdwarf-4", "-O1", "-fdebug-types-section")
	linked := compile(t, "sample", "-g", "-O2", "-static", "-nostdlib", "-Wl,-e,main")
	archive := filepath.Join(t.TempDir(), "sample.a")
	harness.MustRun(t, "", "ar", "cr", archive, object, dwarf4)
	dir := t.TempDir()
	btfo, btf := filepath.Join(dir, "sample.btfo"), filepath.Join(dir, "sample.btf")
	harness.MustRun(t, "", btfgen, "object", "-o", btfo, object)
	harness.MustRun(t, "", btfgen, "elf", "-o", btf, linked)

	elfOf := func(path string) []variant {
		v := must.Get(elfVariants(harness.ReadFile(t, path)))(t)
		return v
	}
	total := 0
	fmt.Println("| file | verb | variants | refused | accepted and valid |")
	fmt.Println("|---|---|--:|--:|--:|")
	for _, c := range []struct {
		name     string
		variants []variant
		verbs    []verb
		every    string // the verb that is run with every variant; "" if another file's verb reads them
	}{
		{"object.o", elfOf(object), elfVerbs(t)[:2], "btfgen object"},
		{"dwarf4.o", elfOf(dwarf4), elfVerbs(t)[:1], "btfgen object"},
		{"linked", elfOf(linked), elfVerbs(t)[1:], "btfgen elf"},
		{"object.o", elfOf(object), embedVerbs(t, btf), ""},
		{"linked", elfOf(linked), embedVerbs(t, btf), ""},
		{"archive.a", archiveVariants(harness.ReadFile(t, archive)), elfVerbs(t)[:1], "btfgen object"},
		{"object.btfo", elfOf(btfo), btfVerbs(t, btf, btfo), "btfdedup merge"},
		{"linked.btf", btfVariants(harness.ReadFile(t, btf)), btfVerbs(t, btf, btfo), "btfdedup link"},
	} {
		in := filepath.Join(t.TempDir(), c.name)
		for n, v := range c.verbs {
			refused, accepted := 0, 0
			for i, d := range c.variants {
				if v.name != c.every && i%4 != n%4 {
					continue
				}
				harness.WriteFile(t, in, string(d.Data))
				what := c.name + ": " + d.Name
				if check(t, v, what, in) != "" {
					refused++
					continue
				}
				accepted++
				if v.name == "btfgen elf" {
					out := filepath.Join(t.TempDir(), "out.btf")
					harness.MustRun(t, "", v.replace(in, out)...)
					r, err := harness.Command{Argv: []string{btfdedup, "verify", out}}.Run()
					// If the damage hides all units, the result is a blob without types.
					if err != nil || r.Exit != 0 && !strings.Contains(r.Stdout+r.Stderr, "no-types") {
						t.Errorf("%s: %s: accepted, and wrote BTF that isn't valid: %v %s%s", what, v.name, err,
							r.Stdout, r.Stderr)
					}
				}
			}
			total += refused + accepted
			fmt.Printf("| %s | %s | %d | %d | %d |\n", c.name, v.name, refused+accepted, refused, accepted)
			if refused == 0 {
				t.Errorf("%s: %s accepted every damaged file", c.name, v.name)
			}
		}
	}
	if total < 200 {
		t.Errorf("only %d variants were tried", total)
	}
}
