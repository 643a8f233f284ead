package btf

import (
	"bytes"
	"os"
	"testing"
)

const runningKernel = "/sys/kernel/btf/vmlinux"

func BenchmarkParse(b *testing.B) {
	data, err := os.ReadFile(runningKernel)
	if err != nil {
		b.Skip("SKIPPED: no BTF of a running kernel:", err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := Parse(data, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func TestRunningKernelRoundTrip(t *testing.T) {
	data, err := os.ReadFile(runningKernel)
	if err != nil {
		t.Skip("SKIPPED: no BTF of a running kernel:", err)
	}
	b, err := Parse(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := Encode(b, EncodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if b.Header.HdrLen == HeaderLen && !bytes.Equal(out, data) {
		t.Fatalf("encoding the parsed blob gives other bytes (%d, was %d)", len(out), len(data))
	}
}
