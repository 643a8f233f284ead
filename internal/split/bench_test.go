package split

import (
	"os"
	"testing"

	"github.com/rules-btf/rules_btf/internal/elf"
)

// BenchmarkSplit splits the file with DWARF named by SPLIT_ELF, such as a vmlinux, on one thread.
func BenchmarkSplit(b *testing.B) {
	path := os.Getenv("SPLIT_ELF")
	if path == "" {
		b.Skip("set SPLIT_ELF to an ELF file with DWARF")
	}
	inputs, err := elf.OpenInput(path)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		_, err := Split(inputs, Options{Shards: 8, Jobs: 1}, func(int, []byte) error { return nil })
		if err != nil {
			b.Fatal(err)
		}
	}
}
