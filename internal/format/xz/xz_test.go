package xz_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	library "github.com/mikelolasagasti/xz"

	"github.com/rules-btf/rules_btf/internal/format/xz"
)

// text returns content like that of BTF: words of 4 bytes with a counter, repeated names, and
// random bytes.
func text(size int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for i := uint32(0); b.Len() < size; i++ {
		switch r.IntN(4) {
		case 0:
			b.Write([]byte{byte(i), byte(i >> 8), 0, 4, byte(r.IntN(16)), 0, 0, 0, 1, 0, 0, 4})
		case 1:
			b.WriteString([]string{"task_struct", "sk_buff", "__state", "u64"}[r.IntN(4)] + "\x00")
		case 2:
			b.Write(bytes.Repeat([]byte{byte(r.IntN(8))}, r.IntN(400)))
		default:
			b.Write([]byte{byte(r.Uint32()), byte(r.Uint32())})
		}
	}
	return b.Bytes()[:size]
}

// noise returns content that can't be compressed.
func noise(size int) []byte {
	b := make([]byte, size)
	r := rand.NewChaCha8([32]byte{})
	r.Read(b)
	return b
}

// pack runs xz, or skips the test if it isn't installed.
func pack(t testing.TB, options string, data []byte) []byte {
	t.Helper()
	cmd := exec.Command("xz", append(strings.Fields(options), "-c")...)
	if cmd.Err != nil {
		t.Skip(cmd.Err)
	}
	cmd.Stdin = bytes.NewReader(data)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("xz %s: %v", options, err)
	}
	return out
}

// TestFiles checks that Decompress accepts files that xz writes, and refuses other forms of xz
// files.
func TestFiles(t *testing.T) {
	long := text(1 << 20)
	mixed := slices.Concat(long[:300_000], noise(100_000), long, noise(100))
	for _, c := range []struct {
		options string
		content []byte
		ok      bool
	}{
		{"-6", nil, false}, // without a block
		{"-6", []byte("x"), true},
		{"-6", text(1000), true},
		{"-0", long, true},
		{"-6", long, true},
		{"-9e", long, true},
		{"-6", noise(1 << 18), true},
		{"-1", mixed, true},
		{"--check=none", mixed, true},
		{"--check=crc32", mixed, true},
		{"--check=sha256", mixed, false},
		{"-T1 --lzma2=dict=4KiB,lc=0,lp=4,pb=4", mixed, true},
		{"-T1 --lzma2=dict=64KiB,lc=4,lp=0,pb=0", mixed, true},
		{"-T1 --lzma2=preset=6,lc=2,lp=2,pb=2,nice=4", mixed, true},
		{"--lzma2=dict=128MiB", long, true},
		{"--lzma2=dict=192MiB", long, false},
		{"-T2 --block-size=256KiB", long, true},
		{"-T1 --block-size=100KiB", mixed, true},
		{"-T1 --block-list=512,1024,7,0 --check=crc32", mixed, true},
		{"-T1 --block-size=8MiB", long, true},
		{"--x86 --lzma2", long, false},
		{"--format=lzma", long, false},
	} {
		packed := pack(t, c.options, c.content)
		got, ok := xz.Decompress(packed, len(c.content))
		if ok != c.ok || ok && !bytes.Equal(got, c.content) {
			t.Errorf("xz %s of %d bytes: %v and %d bytes, want %v", c.options, len(c.content), ok, len(got),
				c.ok)
		}
		if !c.ok {
			continue
		}
		if got, err := read(packed); err != nil || !bytes.Equal(got, c.content) {
			t.Errorf("xz %s: NewReader: %d bytes, %v", c.options, len(got), err)
		}
		if _, ok := xz.Decompress(packed, len(c.content)-1); ok {
			t.Errorf("xz %s: the limit is %d bytes, but content of %d bytes was accepted", c.options,
				len(c.content)-1, len(c.content))
		}
		if _, ok := xz.Decompress(append(slices.Clip(packed), 0, 0, 0, 0), 1<<30); ok {
			t.Errorf("xz %s: accepted with padding after the stream", c.options)
		}
	}
}

// read reads the content of a file with NewReader.
func read(packed []byte) ([]byte, error) {
	r, ok := xz.NewReader(packed, 2)
	if !ok {
		return nil, errors.New("refused")
	}
	defer r.Close()
	return io.ReadAll(r)
}

// TestClose closes a reader before the end of the file. The thread must end.
func TestClose(t *testing.T) {
	r, ok := xz.NewReader(pack(t, "-T1 --block-size=4KiB", text(1<<16)), 3)
	if !ok {
		t.Fatal("refused")
	}
	if _, err := io.ReadFull(r, make([]byte, 5000)); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestDamage changes each byte of some files. If a changed file is accepted, its content must be
// what the library reads from it.
func TestDamage(t *testing.T) {
	content := text(3000)
	for _, options := range []string{"-6", "--check=none", "--check=crc32", "--block-size=1KiB"} {
		packed := pack(t, options, content)
		for i := range packed {
			for _, change := range []byte{1, 0x80, 0xff} {
				damaged := slices.Clone(packed)
				damaged[i] ^= change
				got, ok := xz.Decompress(damaged, 1<<20)
				if ok {
					compare(t, damaged, got)
				}
				if _, err := read(damaged); ok != (err == nil) {
					t.Errorf("xz %s, byte %d: Decompress %v, NewReader %v", options, i, ok, err)
				}
			}
			if _, ok := xz.Decompress(packed[:i], 1<<20); ok {
				t.Errorf("xz %s: the first %d of %d bytes are accepted", options, i, len(packed))
			}
		}
	}
}

// compare checks that the library reads the same content from the file.
func compare(t testing.TB, packed, content []byte) {
	t.Helper()
	r, err := library.NewReader(bytes.NewReader(packed), 1<<27)
	var want []byte
	if err == nil {
		want, err = io.ReadAll(r)
	}
	if err != nil || !bytes.Equal(content, want) {
		t.Errorf("we read %d bytes, the library %d (error: %v); the file is %x", len(content),
			len(want), err, packed[:min(len(packed), 200)])
	}
}

// TestSizes changes the sizes in a block's header, which xz writes when it uses several threads.
// These sizes must equal those in the index.
func TestSizes(t *testing.T) {
	content := text(3000)
	packed := pack(t, "-T2", content)
	if _, ok := xz.Decompress(packed, len(content)); !ok {
		t.Fatal("the file isn't accepted")
	}
	const start = 12
	size := (int(packed[start]) + 1) * 4
	if packed[start+1]&0xc0 != 0xc0 {
		t.Fatalf("the flags %#x of the block: no sizes", packed[start+1])
	}
	for at := 2; at < 6; at++ { // two numbers of two bytes
		changed := slices.Clone(packed)
		header := changed[start : start+size]
		header[at] ^= 1
		binary.LittleEndian.PutUint32(header[size-4:], crc32.ChecksumIEEE(header[:size-4]))
		if _, ok := xz.Decompress(changed, len(content)); ok {
			t.Errorf("byte %d of the header is changed, and the file is accepted", at)
		}
	}
}

// FuzzDecompress checks that the library reads the same content from each file that Decompress
// accepts. So that damage is not only found by checksums, the test also puts arbitrary chunks into
// a container with correct checksums.
func FuzzDecompress(f *testing.F) {
	for _, options := range []string{"-0", "-6", "--lzma2=lc=0,lp=2,pb=0"} {
		mixed := slices.Concat(text(2000), noise(70_000), text(2000))
		for _, content := range [][]byte{text(300), mixed} {
			packed := pack(f, options, content)
			f.Add(packed, false, uint32(0))
			f.Add(xz.Chunks(packed), true, uint32(len(content)))
		}
	}
	// Without a checksum, as few bytes as possible follow the chunks.
	f.Add([]byte("00000000000000000000"), true, uint32(11))
	f.Fuzz(func(t *testing.T, data []byte, chunks bool, size uint32) {
		if chunks {
			data = xz.Wrap(data, size%(1<<20))
		}
		if content, ok := xz.Decompress(data, 1<<20); ok {
			compare(t, data, content)
		}
	})
}

func BenchmarkDecompress(b *testing.B) {
	packed := pack(b, "-6", text(5<<20))
	b.SetBytes(5 << 20)
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			xz.Decompress(packed, 1<<30)
		}
	})
	b.Run("library", func(b *testing.B) {
		for b.Loop() {
			r, err := library.NewReader(bytes.NewReader(packed), 1<<27)
			if err != nil {
				b.Fatal(err)
			}
			io.Copy(io.Discard, r)
		}
	})
}
