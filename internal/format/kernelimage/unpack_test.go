package kernelimage

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestFormats unpacks the output of the programs that compress kernels, as a file and in images.
// The flags are the ones in scripts/Makefile.lib and scripts/xz_wrap.sh.
func TestFormats(t *testing.T) {
	want := machineCode(t)
	for _, c := range []struct{ format, command string }{
		{"gzip", "gzip -n -9"},
		{"xz", "xz --check=crc32 --x86 --lzma2=dict=128MiB"},
		{"xz", "xz --check=crc32 --powerpc --lzma2=dict=1MiB"},
		{"xz", "xz"},
		{"xz", "xz -T2 --block-size=4KiB --check=none"},
		{"zstd", "zstd -22 --ultra"},
		{"lz4", "lz4 -l -9 - -"},
		{"lz4", "lz4 -9 - -"},
		{"lzma", "lzma -9"},
		{"bzip2", "bzip2 -9"},
	} {
		t.Run(c.command, func(t *testing.T) {
			packed := pack(t, c.command, want)
			payload := withSize(packed, len(want))
			if c.format == "gzip" {
				payload = packed // the size is in it
			}
			for _, f := range []struct {
				label string
				file  []byte
			}{
				{c.format, packed},
				{"bzImage, " + c.format, bzImage(payload)},
				{"EFI zboot, " + c.format, zboot(c.format, packed)},
				{"gzip, EFI zboot, " + c.format, gzipped(t, zboot(c.format, packed))},
			} {
				got, err := Unpack("kernel", f.file, 0)
				if err != nil || got.Form != ELF || got.Label != "kernel ("+f.label+")" ||
					!bytes.Equal(got.Data, want) {
					t.Errorf("%s: form %d, label %q, %d bytes of %d, %v", f.label, got.Form, got.Label,
						len(got.Data), len(want), err)
				}
			}
		})
	}
}

// TestStreams unpacks consecutive streams, and ignores what comes after them.
func TestStreams(t *testing.T) {
	want := machineCode(t)
	for _, c := range []struct{ command, after string }{
		{"gzip -n", "\xd0\x0d\xfe\xed"},
		{"xz", "\xd0\x0d\xfe\xed"},
		{"lzma", "\xd0\x0d\xfe\xed"},
		{"zstd", ""},
		{"lz4 - -", ""},
		{"bzip2", ""},
	} {
		t.Run(c.command, func(t *testing.T) {
			var packed []byte
			for _, part := range [][]byte{want[:1000], want[1000:1001], nil, want[1001:]} {
				packed = append(packed, pack(t, c.command, part)...)
			}
			got, err := Unpack("x", append(packed, c.after...), 0)
			if err != nil || !bytes.Equal(got.Data, want) {
				t.Errorf("%d bytes of %d, %v", len(got.Data), len(want), err)
			}
			if got, err := Unpack("x", packed[:len(packed)-9], 0); err == nil {
				t.Errorf("cut off: %d bytes", len(got.Data))
			}
		})
	}
}

// TestUnwanted: if a file is neither a kernel nor BTF, only its first bytes are unpacked.
func TestUnwanted(t *testing.T) {
	got, err := unpack("x", gzipped(t, make([]byte, 5000)), 2000)
	if err != nil || got.Form != Other || len(got.Data) != HeadSize || got.Label != "x (gzip)" {
		t.Errorf("form %d, %d bytes, label %q, %v", got.Form, len(got.Data), got.Label, err)
	}
	image := flat(strings.Repeat("\x00", 1990-64))
	if got, err = unpack("x", gzipped(t, image), 2000); err != nil || !bytes.Equal(got.Data, image) {
		t.Errorf("%d bytes of %d, %v", len(got.Data), len(image), err)
	}
}

// TestSeeds unpacks small files from testdata, so it needs no zstd, lz4 or other program.
func TestSeeds(t *testing.T) {
	files, err := filepath.Glob("testdata/flat.*")
	if err != nil || len(files) != 7 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		must.OK(t, err)
		c, err := Unpack(path, data, 0)
		if err != nil {
			t.Error(err)
			continue
		}
		found, err := FindBTF(c.Data)
		if c.Form != Flat || !bytes.HasSuffix(found, []byte("\x00int\x00")) || len(found) != 45 {
			t.Errorf("%s: form %d, BTF %q, %v", path, c.Form, found, err)
		}
	}
}

// TestNotPacked: a file that isn't packed is returned unchanged.
func TestNotPacked(t *testing.T) {
	for _, c := range []struct {
		data string
		form Form
	}{
		{"", Other},
		{"\x7f", Other},
		{"\x9f\xeb\x01\x00", Other},
		{"#!/bin/sh", Other},
		{"\x7fELF and more", ELF},
		{string(flat()), Flat},
		{strings.Repeat(" ", headerMagic) + "RSC\x05", Flat},
		{strings.Repeat(" ", headerMagic) + "\xcd\x23\x82\x81", Flat},
	} {
		got, err := Unpack("file", []byte(c.data), 0)
		if err != nil || got.Form != c.form || got.Label != "file" || string(got.Data) != c.data {
			t.Errorf("%q: %+v, %v; want form %d", c.data, got, err, c.form)
		}
	}
}

// TestDamage checks the errors for images that can't be unpacked.
func TestDamage(t *testing.T) {
	seed := must.Get(os.ReadFile("testdata/flat.zst"))(t)
	const size = 402 // the decompressed size of the other files in testdata
	good := bzImage(withSize(seed, size))
	must.Get(Unpack("x", good, 0))(t)
	set := func(image []byte, off int, value uint32) []byte {
		image = bytes.Clone(image)
		binary.LittleEndian.PutUint32(image[off:], value)
		return image
	}
	efi := zboot("zstd", seed)
	small := must.Get(os.ReadFile("testdata/flat.lzma"))(t)
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"no header", good[:setupMagic+6], "(bzImage): truncated in the setup header, after 520 " +
			"bytes"},
		{"old", set(good, setupVersion, 0x207), "boot protocol 2.07"},
		{"offset", set(good, payloadOffset, 1<<32-1), "the payload has 67 bytes at offset 0x1000005ff"},
		{"length", set(good, payloadLength, 1<<31), "has 2147483648 bytes at offset 0x610"},
		{"cut off", good[:len(good)-20], "truncated or damaged"},
		{"no payload", set(good, payloadLength, 0), `unknown format: it starts with ""`},
		{"other payload", bzImage([]byte("payload")), `unknown format: it starts with "payl"`},
		{"other size", bzImage(withSize(seed, size+1)), "damaged: it decompresses to 402 bytes, " +
			"expected 403"},
		{"half a payload", bzImage(seed[:40]), "(bzImage, zstd): damaged"},
		{"lzo", bzImage([]byte("\x89LZO\x00\r\n\x1a\nxxxxx")), "(bzImage, lzo): compressed with " +
			"lzo, which is not supported: decompress the file first, with " +
			"scripts/extract-vmlinux from the kernel source or with lzop -d"},
		{"zboot header", efi[:50], "(EFI zboot): truncated in the header, after 50 bytes"},
		{"zboot offset", set(efi, zbootOffset, 300), "truncated or damaged"},
		{"zboot size", set(efi, zbootSize, 1<<32-1), "has 4294967295 bytes"},
		{"zboot format", zboot("brotli", []byte("payload")), `which the header calls "brotli":`},
		{"zboot damage", set(efi, len(efi)-30, 0), "(EFI zboot, zstd): damaged"},
		{"gzip header", []byte("\x1f\x8b\x08\x00"), "(gzip): damaged"},
		{"xz damage", []byte("\xfd7zXZ\x00\x00"), "(xz): damaged"},
		{"lzma window", []byte("\x5d\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00"),
			"(lzma): damaged"},
		{"bzip2 damage", []byte("BZh9xxxx"), "(bzip2): damaged"},
		{"lz4 damage", []byte("\x04\x22\x4d\x18xxxx"), "(lz4): damaged"},
		{"too large", gzipped(t, flat(strings.Repeat("x", 10000))), "(gzip): more than 10000 " +
			"bytes when decompressed; if that is right, decompress the file first with " +
			"scripts/extract-vmlinux from the kernel source"},
		{"many streams", bytes.Repeat(small, maxLZMA+1), "(lzma): damaged, or compressed in an unusual " +
			"way (more than 16 streams)"},
		{"too deep", gzipped(t, gzipped(t, gzipped(t, gzipped(t, seed)))),
			"(gzip, gzip, gzip, gzip): has more than 4 layers of compression"},
		{"uImage", []byte("\x27\x05\x19\x56xxxx"), "a uImage for U-Boot"},
		{"zImage", append(make([]byte, 0x24), "\x18\x28\x6f\x01"...), "a zImage of 32-bit ARM"},
		{"unified image", []byte("MZxxxx"), "objcopy -O binary -j .linux"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := unpack("x", c.data, 10000)
			if err == nil {
				t.Fatalf("no error; want %q", c.want)
			}
			if text := err.Error(); !strings.HasPrefix(text, "x") || !strings.Contains(text, c.want) ||
				strings.Contains(text, "\n") {
				t.Errorf("%q; want %q", text, c.want)
			}
		})
	}
}
