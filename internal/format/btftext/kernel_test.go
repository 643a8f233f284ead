package btftext_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/btftext"
	"github.com/rules-btf/rules_btf/internal/inspect/diff"
)

// write returns a blob's text.
func write(t testing.TB, b *btf.Blob) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := btftext.Write(&out, b); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// checkLossless writes a blob and reads the text, which must give the same content and, written
// again, the same text.
func checkLossless(t testing.TB, b *btf.Blob) (text []byte) {
	t.Helper()
	text = write(t, b)
	back, err := btftext.Read(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if again := write(t, back); !bytes.Equal(text, again) {
		t.Fatalf("the text changes:\n%s\n-- written again:\n%s", text, again)
	}
	differences, _ := diff.Compare(diff.Side{b}, diff.Side{back}, diff.Options{})
	for _, d := range differences {
		t.Errorf("%+v", d)
	}
	return text
}

func TestRunningKernel(t *testing.T) {
	const path = "/sys/kernel/btf/vmlinux"
	if _, err := os.Stat(path); err != nil {
		t.Skip("SKIPPED: no BTF of a running kernel:", err)
	}
	b, err := btf.ReadOne(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := checkLossless(t, b)
	os.WriteFile("/tmp/kernel.txt", text, 0o644)
	t.Logf("%d types, %d bytes of text", len(b.Types), len(text))
}

func BenchmarkRead(b *testing.B) {
	text, _ := os.ReadFile("/tmp/kernel.txt")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := btftext.Read(text); err != nil {
			b.Fatal(err)
		}
	}
}
