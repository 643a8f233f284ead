package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/report"
	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/debugfile"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/language"
	"github.com/rules-btf/rules_btf/internal/pipeline"
)

// BenchmarkElf makes the BTF of the ELF file named by BTF_BENCH_ELF, such as a vmlinux with DWARF.
func BenchmarkElf(b *testing.B) {
	path := os.Getenv("BTF_BENCH_ELF")
	if path == "" {
		b.Skip("set BTF_BENCH_ELF to an ELF file with DWARF")
	}
	excluded, err := language.Parse("rust")
	if err != nil {
		b.Fatal(err)
	}
	for _, jobs := range []int{1, 2} {
		b.Run(fmt.Sprintf("j%d", jobs), func(b *testing.B) {
			for b.Loop() {
				options := convert.Options{Features: features.Default(), LangExclude: excluded, Jobs: jobs,
					Counts: new(convert.Counts)}
				env := &cli.Env{Stderr: os.Stderr}
				run := report.Start(env, nil)
				_, err := pipeline.Linked(path, pipeline.How{Files: new(debugfile.Search),
					Bases: new(base.Files), Convert: options, Watch: run})
				run.Close()
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
