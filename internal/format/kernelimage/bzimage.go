package kernelimage

import (
	"encoding/binary"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Offsets in the first sectors of a bzImage, which contain the x86 setup header.
const (
	setupSects    = 0x1f1 // byte: number of 512-byte sectors of setup code after the first sector
	bootFlag      = 0x1fe
	setupMagic    = 0x202
	setupVersion  = 0x206 // half-word: version of the boot protocol
	payloadOffset = 0x248 // word: from the end of the setup code; protocol 2.08 and later
	payloadLength = 0x24c // word
)

func isBzImage(data []byte) bool {
	return hasAt(data, bootFlag, "\x55\xaa") && hasAt(data, setupMagic, "HdrS")
}

// bzImagePayload returns the compressed vmlinux in a bzImage. The kernel's build appends the
// decompressed size in four bytes, except to gzip data, which already contains it (size_append in
// scripts/Makefile.lib). The four bytes are cut off: decompressors would report them as damage.
// Rule: bzImage. Source: kernel arch/x86/boot/header.S, mkpiggy.c, scripts/extract-vmlinux.
func bzImagePayload(data []byte) (payload, error) {
	p := payload{container: "bzImage", size: -1}
	if len(data) < payloadLength+4 {
		return p, fmt.Errorf("truncated in the setup header, after %d bytes"+message.Rebuild, len(data))
	}
	le := binary.LittleEndian
	if v := le.Uint16(data[setupVersion:]); v < 0x208 {
		return p, fmt.Errorf("boot protocol %d.%02d: a kernel before Linux 2.6.26, which has no BTF",
			v>>8, v&0xff)
	}
	sects := int64(data[setupSects])
	if sects == 0 {
		sects = 4
	}
	start := (sects+1)*512 + int64(le.Uint32(data[payloadOffset:]))
	var err error
	if p.data, err = slice(data, start, int64(le.Uint32(data[payloadLength:]))); err != nil {
		return p, err
	}
	if p.format = formatOf(p.data); p.format == nil {
		return p, fmt.Errorf("the payload at offset %#x is compressed in an unknown format: "+
			"it starts with %q"+message.Rebuild, start, p.data[:min(4, len(p.data))])
	}
	if end := len(p.data) - 4; p.format.name != "gzip" && end > 0 {
		p.data, p.size = p.data[:end], int(le.Uint32(p.data[end:]))
	}
	return p, nil
}

// slice returns the payload: size bytes of data that begin at offset start.
func slice(data []byte, start, size int64) ([]byte, error) {
	if start > int64(len(data)) || size > int64(len(data))-start {
		return nil, fmt.Errorf("truncated or damaged: the header says that the payload has %d "+
			"bytes at offset %#x, but the file has only %d bytes"+message.Rebuild, size, start, len(data))
	}
	return data[start : start+size], nil
}
