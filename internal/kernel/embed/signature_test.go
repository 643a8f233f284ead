package embed

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// signed returns a file with a signature of size bytes. claimed is the size that the signature's
// header states.
func signed(data []byte, size int, claimed uint32) []byte {
	out := append(bytes.Clone(data), bytes.Repeat([]byte{0x30}, size)...)
	out = append(out, make([]byte, signatureHeaderSize-4)...)
	return append(binary.BigEndian.AppendUint32(out, claimed), signatureMagic...)
}

func TestUnsigned(t *testing.T) {
	plain := programtest.Gunzip(t, "../../format/elf/testdata/machines/s390x.o.gz")
	once := signed(plain, 700, 700)
	for _, tt := range []struct {
		name string
		data []byte
		drop bool
		want string // the error, or "" if the unsigned file is returned
	}{
		{"unsigned", plain, false, ""},
		{"unsigned, drop", plain, true, ""},
		{"signed", once, false, "x.ko: the kernel module is signed, and a change would"},
		{"signed", once, false, "--drop-signature"},
		{"signed, drop", once, true, ""},
		{"twice", signed(once, 9, 9), true, ""},
		{"too long", signed(plain, 9, 1<<31), true, "should have 2147483648 bytes, but only"},
		{"takes the module too", signed(plain, 9, uint32(len(plain))+9), true, "x.ko: empty"},
		{"takes a part of it", signed(plain, 9, 40), true, "(without its signature)"},
	} {
		f, err := elf.Parse("x.ko", tt.data)
		must.OK(t, err)
		got, err := Unsigned(f, tt.drop)
		switch {
		case tt.want != "":
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
			}
		case err != nil || !bytes.Equal(got.Bytes(), plain):
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
