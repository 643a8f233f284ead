package compilerbtf

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// BenchmarkRoads compares the cost of converting the DWARF and the BTF of one source.
func BenchmarkRoads(b *testing.B) {
	w := newWorkspace(b)
	var source strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&source, "struct s%d { struct s%d *next; int a, b : 3; char name[%d]; };\n"+
			"typedef struct s%[1]d t%[1]d; enum e%[1]d { E%[1]d = %[1]d };\n"+
			"int f%[1]d(t%[1]d *s, enum e%[1]d e) { return s->a + e; }\n", i, i/2, i)
	}
	w.compile("a", source.String(), "-O2")
	for _, road := range []struct {
		name, file string
		read       func(*elf.File, convert.Options) (*convert.Result, error)
	}{{"dwarf", "a.d.o", convert.File}, {"btf", "a.b.o", File}} {
		b.Run(road.name, func(b *testing.B) {
			for b.Loop() {
				f, err := elf.Open(w.Path(road.file))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := road.read(f, convert.Options{Features: w.Features, Jobs: 1}); err != nil {
					b.Fatal(err)
				}
				f.Close()
			}
		})
	}
}
