package kernelimage

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Offsets in the header of an EFI zboot image.
const (
	zbootMagic  = 0x04
	zbootOffset = 0x08 // word: offset of the payload in the file
	zbootSize   = 0x0c // word: bytes of the payload, without the decompressed size after it
	zbootFormat = 0x18 // string: how the payload is compressed
	zbootEnd    = 0x38
)

func isZboot(data []byte) bool { return hasAt(data, 0, "MZ") && hasAt(data, zbootMagic, "zimg") }

// zbootPayload returns the compressed flat image in an EFI zboot image.
// Rule: EFI zboot image. Source: kernel drivers/firmware/efi/libstub/zboot-header.S.
func zbootPayload(data []byte) (payload, error) {
	p := payload{container: "EFI zboot", size: -1}
	if len(data) < zbootEnd {
		return p, fmt.Errorf("truncated in the header, after %d bytes"+message.Rebuild, len(data))
	}
	le := binary.LittleEndian
	var err error
	p.data, err = slice(data, int64(le.Uint32(data[zbootOffset:])),
		int64(le.Uint32(data[zbootSize:])))
	if err != nil {
		return p, err
	}
	if p.format = formatOf(p.data); p.format == nil {
		name, _, _ := bytes.Cut(data[zbootFormat:zbootEnd], []byte{0})
		return p, fmt.Errorf("the payload is compressed in an unknown format, which the header "+
			"calls %q: decompress it first", name)
	}
	return p, nil
}
