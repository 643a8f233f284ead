package kernelimage

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// pack runs a program that compresses data, or skips the test if it is not installed.
func pack(t testing.TB, command string, data []byte) []byte {
	t.Helper()
	args := strings.Fields(command)
	cmd := exec.Command(args[0], args[1:]...)
	if cmd.Err != nil {
		t.Skip("SKIPPED: ", cmd.Err)
	}
	cmd.Stdin = bytes.NewReader(data)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return out
}

func gzipped(t testing.TB, data []byte) []byte { return filetest.Pack(t, ".gz", data) }

// withSize returns a payload followed by its decompressed size, like the output of size_append in
// scripts/Makefile.lib.
func withSize(payload []byte, size int) []byte {
	return binary.LittleEndian.AppendUint32(payload[:len(payload):len(payload)], uint32(size))
}

// bzImage makes a bzImage with two sectors of setup code, the payload 16 bytes after them, and
// other bytes at the end.
func bzImage(payload []byte) []byte {
	image := make([]byte, 3*512+16)
	image[setupSects] = 2
	copy(image[bootFlag:], "\x55\xaa")
	copy(image[setupMagic:], "HdrS\x0f\x02")
	binary.LittleEndian.PutUint32(image[payloadOffset:], 16)
	binary.LittleEndian.PutUint32(image[payloadLength:], uint32(len(payload)))
	return append(append(image, payload...), "signature"...)
}

// zboot makes an EFI zboot image.
func zboot(format string, payload []byte) []byte {
	image := make([]byte, 256)
	copy(image, "MZ\x00\x00zimg")
	binary.LittleEndian.PutUint32(image[zbootOffset:], 256)
	binary.LittleEndian.PutUint32(image[zbootSize:], uint32(len(payload)))
	copy(image[zbootFormat:], format)
	copy(image[headerMagic:], flatMagics[2])
	return withSize(append(image, payload...), 1000)
}

// blob makes a blob with integers of the sizes 1, 2, 4 … 2^n.
func blob(t testing.TB, order binary.ByteOrder, n int) []byte {
	t.Helper()
	b := btf.NewBuilder(order, nil, nil)
	for i := range n {
		b.Int("int", 1<<i, 0, 0)
	}
	data := must.Get(b.Encode(btf.EncodeOptions{Layout: n%2 == 0}))(t)
	return data
}

// flat makes a flat image that begins with an arm64 header.
func flat(parts ...string) []byte {
	image := make([]byte, 64)
	copy(image, "MZ")
	copy(image[headerMagic:], flatMagics[0])
	return append(image, strings.Join(parts, "")...)
}

// machineCode returns the beginning of an ELF file, which contains machine code.
func machineCode(t testing.TB) []byte {
	t.Helper()
	path := must.Get(os.Executable())(t)
	data := must.Get(os.ReadFile(path))(t)
	return data[:min(len(data), 1<<18)]
}
