package convert

import (
	"fmt"
	"os"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/language"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// BenchmarkFile converts the ELF file named by BTF_BENCH_ELF, such as a vmlinux with DWARF.
func BenchmarkFile(b *testing.B) {
	path := os.Getenv("BTF_BENCH_ELF")
	if path == "" {
		b.Skip("set BTF_BENCH_ELF to an ELF file with DWARF")
	}
	excluded := must.Get(language.Parse("rust"))(b)
	for _, jobs := range []int{1, 2} {
		b.Run(fmt.Sprintf("j%d", jobs), func(b *testing.B) {
			for b.Loop() {
				f, err := elf.Open(path)
				must.OK(b, err)
				o, err := File(f, Options{Features: features.Default(), LangExclude: excluded, Jobs: jobs})
				must.OK(b, err)
				items := 0
				for _, u := range o.Units {
					items += len(u.Items)
				}
				b.ReportMetric(float64(len(o.Graph.Nodes)), "nodes")
				b.ReportMetric(float64(len(o.Units)), "units")
				b.ReportMetric(float64(items), "items")
				f.Close()
			}
		})
	}
}
