package base

import (
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// BenchmarkParse makes the index of the running kernel's BTF in memory.
func BenchmarkParse(b *testing.B) {
	blob, err := btf.ReadOne("/sys/kernel/btf/vmlinux", nil)
	if err != nil {
		b.Skip(err)
	}
	for b.Loop() {
		must.Get(Parse(blob))(b)
	}
}
