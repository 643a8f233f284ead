package kernelimage

import (
	"bytes"
	stdelf "debug/elf"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// maxLayers is enough for a zboot image that is compressed once more, and its payload.
const maxLayers = 4

// What a layer may have when decompressed: kernels are compressed to a sixth or so.
const (
	usualRatio        = 32 // times the size of the file
	smallDecompressed = 8 << 20
)

// Form is what is left of a file when it is unpacked.
type Form uint8

const (
	Other Form = iota // nothing that is known here; it may be raw BTF
	ELF
	Flat // the memory of a kernel
)

// Content is a file without what it was packed in.
type Content struct {
	Form  Form
	Data  []byte
	Label string // the file's name and what it was packed in, such as "vmlinuz (bzImage, zstd)"
}

// Unpack unpacks data, the content of the file that name stands for in errors. A file that isn't
// packed is returned as it is, and of one that has neither a kernel nor BTF in it the first bytes.
// A layer may have maxDecompressed bytes; 8 MiB, and 32 times the size of data, it may always have.
// Errors name the layer that is damaged or not supported.
func Unpack(name string, data []byte, maxDecompressed int) (Content, error) {
	return unpack(name, data, max(smallDecompressed, usualRatio*len(data), maxDecompressed))
}

// unpack is Unpack with a limit of the size of each layer, in bytes.
func unpack(name string, data []byte, limit int) (Content, error) {
	c := Content{Data: data, Label: name}
	layers := ""
	enter := func(layer string) {
		if layers != "" {
			layers += ", "
		}
		layers += layer
		c.Label = name + " (" + layers + ")"
	}
	fail := func(err error) (Content, error) { return Content{}, fmt.Errorf("%s: %w", c.Label, err) }
	for range maxLayers {
		p, err := findPayload(c.Data)
		if p.container != "" {
			enter(p.container)
		}
		if err != nil {
			return fail(err)
		}
		if p.format == nil {
			c.Form = formOf(c.Data)
			return c, nil
		}
		enter(p.format.name)
		var whole bool
		if c.Data, whole, err = p.format.decompress(p.data, limit, known); err != nil {
			return fail(err)
		}
		if !whole {
			c.Form = Other
			return c, nil
		}
		if p.size >= 0 && p.size != len(c.Data) {
			return fail(fmt.Errorf("damaged: decompressed, it has %d bytes, and it was made of %d",
				len(c.Data), p.size))
		}
	}
	return fail(fmt.Errorf("packed more than %d times: unpack it first", maxLayers))
}

// payload is the compressed part of a file.
type payload struct {
	container string  // what holds it, "" if the file is the payload
	format    *format // how it is compressed, nil if it isn't
	data      []byte
	size      int // bytes of the decompressed data, -1 if that is not known
}

// findPayload finds the payload of a file or a layer. An error may come with the container.
func findPayload(data []byte) (payload, error) {
	switch {
	case bytes.HasPrefix(data, []byte(stdelf.ELFMAG)):
		return payload{}, nil
	case isBzImage(data):
		return bzImagePayload(data)
	case isZboot(data):
		return zbootPayload(data)
	case isFlat(data):
		return payload{}, nil
	}
	return payload{format: formatOf(data), data: data, size: -1}, unsupported(data)
}

// known reports whether a layer that begins so can hold a kernel or BTF, or is refused by name.
func known(head []byte) bool {
	return formOf(head) != Other || isBzImage(head) || isZboot(head) || formatOf(head) != nil ||
		btf.HasMagic(head) || unsupported(head) != nil
}

func formOf(data []byte) Form {
	switch {
	case bytes.HasPrefix(data, []byte(stdelf.ELFMAG)):
		return ELF
	case isFlat(data):
		return Flat
	}
	return Other
}

// unsupported says what to do with a kernel image that is packed in a way that is not known here.
func unsupported(data []byte) error {
	const extract = "; extract the kernel first with scripts/extract-vmlinux of the kernel's source"
	switch {
	case hasAt(data, 0, "\x27\x05\x19\x56"):
		return fmt.Errorf("a uImage for U-Boot, which is not supported%s", extract)
	case hasAt(data, 0x24, "\x18\x28\x6f\x01"):
		return fmt.Errorf("a zImage of 32-bit ARM, which is not supported%s", extract)
	case hasAt(data, 0, "MZ"):
		return fmt.Errorf("an EFI program, but no kernel image that is supported; of a unified " +
			"kernel image, extract the kernel first: objcopy -O binary -j .linux FILE OUT")
	}
	return nil
}

// hasAt reports whether data has the bytes of magic at an offset.
func hasAt(data []byte, off int, magic string) bool {
	return len(data) >= off && bytes.HasPrefix(data[off:], []byte(magic))
}
