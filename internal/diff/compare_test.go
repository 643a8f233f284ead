package diff

import (
	"os"
	"testing"

	"github.com/rules-btf/rules_btf/internal/btf"
)

const runningKernel = "/sys/kernel/btf/vmlinux"

// kernel parses the running kernel's BTF, or skips.
func kernel(t testing.TB) *btf.Blob {
	data, err := os.ReadFile(runningKernel)
	if err != nil {
		t.Skip("SKIPPED: no BTF of a running kernel:", err)
	}
	b, err := btf.Parse(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func BenchmarkCompare(b *testing.B) {
	x, y := kernel(b), kernel(b)
	for b.Loop() {
		if d, s := Compare(Side{x}, Side{y}, Options{}); !s.Same() {
			b.Fatal(d)
		}
	}
}
