package embed

import (
	"encoding/binary"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// Blob is raw BTF, as in the section .BTF or .BTF.base.
type Blob struct {
	Path  string // for error messages
	Data  []byte
	Order binary.ByteOrder

	alone bool // the BTF has no base, because its first string is empty
}

// ReadBlob reads a file that contains raw BTF, split or not. It checks that the sections listed in
// the BTF header fill the file; otherwise, the kernel would reject the BTF at boot or at module
// load. Errors name the file.
func ReadBlob(path string) (*Blob, error) {
	f, data, err := btf.Open(path)
	if err != nil {
		return nil, err
	}
	if f != nil {
		f.Close()
		return nil, fmt.Errorf("%s: it is an ELF file, not raw BTF; use the output of btfdedup link, "+
			"or extract the BTF from the file: btfdedup import -o OUT FILE", path)
	}
	return NewBlob(path, data)
}

// NewBlob is like ReadBlob, but takes the content of the file as a parameter.
func NewBlob(path string, data []byte) (*Blob, error) {
	h, order, err := btf.ReadHeader(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	str := data[h.HdrLen+h.StrOff:][:h.StrLen]
	if len(str) > 0 && str[len(str)-1] != 0 {
		return nil, fmt.Errorf("%s: the string section of the BTF does not end with a NUL byte; "+
			"build or copy the file again", path)
	}
	return &Blob{Path: path, Data: data, Order: order, alone: len(str) > 0 && str[0] == 0}, nil
}

// Parse parses the blob, which is based on base. Errors name the file.
func (b *Blob) Parse(base *btf.Blob) (*btf.Blob, error) {
	parsed, err := btf.Parse(b.Data, base)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Path, err)
	}
	return parsed, nil
}

// fill returns the blob with the size that the linker of f reserved for it, which isn't 0. The
// error for a larger blob ends with what to do.
func (b *Blob) fill(f *elf.File, reserved uint64, do string) (*Blob, error) {
	switch size := uint64(len(b.Data)); {
	case size > reserved:
		return nil, fmt.Errorf("%s: the linker reserved %d bytes for the BTF that the kernel loads, but "+
			"%s has %d: %s", f.Path, reserved, b.Path, size, do)
	case size < reserved:
		return b.padded(reserved)
	}
	return b, nil
}

// padded returns the blob with zeros after its strings, so that it has size bytes. The kernel
// requires that the string section is at the end, ends with a zero, and has at most 16 MiB
// (btf_parse_str_sec).
func (b *Blob) padded(size uint64) (*Blob, error) {
	h, order, err := btf.ReadHeader(b.Data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Path, err)
	}
	if uint64(h.HdrLen)+uint64(h.StrOff)+uint64(h.StrLen) != uint64(len(b.Data)) {
		return nil, fmt.Errorf("%s: the kernel refuses BTF whose string section is not at the end",
			b.Path)
	}
	length := uint64(h.StrLen) + size - uint64(len(b.Data))
	if length > btf.MaxNameOff+1 {
		return nil, fmt.Errorf("%s: to fill the %d bytes that the linker reserved for BTF, there would "+
			"have to be %d bytes of strings, but the kernel reads only %d", b.Path, size, length,
			btf.MaxNameOff+1)
	}
	padded := *b
	padded.Data = make([]byte, size)
	copy(padded.Data, b.Data)
	order.PutUint32(padded.Data[20:], uint32(length)) // str_len
	return &padded, nil
}

// checkOrder checks that the blob has f's byte order: the kernel reads no other (btf_parse_hdr).
func (b *Blob) checkOrder(f *elf.File) error {
	if b.Order != f.Order {
		return fmt.Errorf("%s: the BTF is %s, but %s is %s: is the BTF for another machine?",
			b.Path, endian(b.Order), f.Path, endian(f.Order))
	}
	return nil
}

func endian(order binary.ByteOrder) string {
	if order == binary.BigEndian {
		return "big-endian"
	}
	return "little-endian"
}
