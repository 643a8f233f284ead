package kernelimage

import (
	"bytes"
	stdelf "debug/elf"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// maxLayers is enough for a compressed zboot image and its payload.
const maxLayers = 4

// Limits for the decompressed size of a layer. Compression reduces kernels to about a sixth.
const (
	usualRatio        = 32 // times the size of the file
	smallDecompressed = 8 << 20
)

// Form is the form of an unpacked file.
type Form uint8

const (
	Other Form = iota // any other form, which may be raw BTF
	ELF
	Flat // the memory of a kernel
	Tar  // an archive
)

// Content is an unpacked file.
type Content struct {
	Form  Form
	Data  []byte
	Label string // the file's name and how it was packed, as in "vmlinuz (bzImage, zstd)"
	// Decompressed is how many bytes all layers together had, even if there is an error.
	Decompressed int
}

// Unpack unpacks data, the content of a file; name is for errors. A file that isn't packed is
// returned unchanged. If the unpacked content is neither a kernel nor BTF, only its first bytes are
// returned. Each decompressed layer may have as many bytes as Limit says. Errors name the layer
// that is damaged or not supported.
func Unpack(name string, data []byte, maxDecompressed int) (Content, error) {
	return unpack(name, data, Limit(len(data), maxDecompressed))
}

// Limit returns how many bytes size bytes may have when decompressed: 8 MiB, 32 times size, or
// maxDecompressed, whichever is largest.
// Rule: compressed kernels and modules: how large a layer may be.
func Limit(size, maxDecompressed int) int {
	return max(smallDecompressed, usualRatio*size, maxDecompressed)
}

// unpack is like Unpack; limit is the largest allowed size of a layer, in bytes.
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
	fail := func(err error) (Content, error) {
		return Content{Decompressed: c.Decompressed}, fmt.Errorf("%s: %w", c.Label, err)
	}
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
		l, err := p.decompress(limit, known)
		c.Decompressed += l.size
		if err != nil {
			return fail(err)
		}
		if c.Data = l.data; !l.whole {
			c.Form = Other
			return c, nil
		}
		if p.size >= 0 && p.size != len(c.Data) {
			return fail(fmt.Errorf("damaged: it decompresses to %d bytes, expected %d"+message.Rebuild,
				len(c.Data), p.size))
		}
	}
	return fail(fmt.Errorf("has more than %d layers of compression: decompress it first", maxLayers))
}

type payload struct {
	container string  // the container's name, or "" if the file itself is the payload
	format    *format // how it is compressed, or nil if it isn't
	data      []byte
	size      int // bytes of the decompressed data, or -1 if unknown
}

// findPayload finds the payload of a file or layer. Even if it fails, it may set payload.container.
// Rule: compressed kernels and modules: how they are found. Source: kernel scripts/extract-vmlinux.
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

// known reports whether a layer that begins with head can hold a kernel or BTF, or is known to be
// unsupported.
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
	case IsTar(data):
		return Tar
	}
	return Other
}

// IsTar reports whether data begins like a tar archive of POSIX or GNU.
func IsTar(data []byte) bool { return hasAt(data, 257, "ustar") }

// IsImage reports whether a file that begins with head is a kernel's image other than an ELF file,
// or is compressed. HeadSize bytes suffice.
func IsImage(head []byte) bool {
	return isBzImage(head) || isZboot(head) || isFlat(head) || formatOf(head) != nil ||
		unsupported(head) != nil
}

// unsupported returns an error with advice if data is a kernel image in an unsupported format.
func unsupported(data []byte) error {
	const extract = "; extract the kernel first with scripts/extract-vmlinux from the kernel source"
	switch {
	case hasAt(data, 0, "\x27\x05\x19\x56"):
		return fmt.Errorf("a uImage for U-Boot, which is not supported%s", extract)
	case hasAt(data, 0x24, "\x18\x28\x6f\x01"):
		return fmt.Errorf("a zImage of 32-bit ARM, which is not supported%s", extract)
	case hasAt(data, 0, "MZ"):
		return fmt.Errorf("an EFI program, but not a supported kernel image; if it is a unified " +
			"kernel image, extract the kernel first: objcopy -O binary -j .linux FILE OUT")
	}
	return nil
}

func hasAt(data []byte, off int, magic string) bool {
	return len(data) >= off && bytes.HasPrefix(data[off:], []byte(magic))
}
