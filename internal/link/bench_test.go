package link

import (
	"os"
	"testing"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/language"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// BenchmarkFile links the units of the ELF file named by BTF_BENCH_ELF, such as a vmlinux with
// DWARF. It measures only the link.
func BenchmarkFile(b *testing.B) {
	path := os.Getenv("BTF_BENCH_ELF")
	if path == "" {
		b.Skip("set BTF_BENCH_ELF to an ELF file with DWARF")
	}
	f, err := elf.Open(path)
	must.OK(b, err)
	defer f.Close()
	excluded, err := language.Parse("rust")
	must.OK(b, err)
	made, err := convert.File(f, convert.Options{Features: features.Default(), LangExclude: excluded,
		Jobs: 2})
	must.OK(b, err)
	o, err := object.Merge(made.Object)
	must.OK(b, err)
	x, err := facts.Extract(f, facts.Options{Features: features.Default()})
	must.OK(b, err)
	items := 0
	for _, u := range o.Units {
		items += len(u.Items)
	}
	b.Logf("%d nodes, %d units, %d items", len(o.Graph.Nodes), len(o.Units), items)
	b.ReportAllocs()
	for b.Loop() {
		must.Get(Link([]*object.Object{o},
			Options{Facts: x, Features: features.Default()}))(b)
	}
}

// BenchmarkKernel links the running kernel's BTF with itself.
func BenchmarkKernel(b *testing.B) {
	o := fromBTF(b, kernelBTF(b))
	for b.Loop() {
		must.Get(Link([]*object.Object{o}, Options{}))(b)
	}
}
