package kernelimage

import (
	"bytes"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// headerMagic is the offset of the magic number in a flat image.
const headerMagic = 0x38

// flatMagics are the magic numbers of arm64, riscv, and include/linux/pe.h (loongarch and others).
var flatMagics = []string{"ARM\x64", "RSC\x05", "\xcd\x23\x82\x81"}

func isFlat(data []byte) bool {
	for _, magic := range flatMagics {
		if hasAt(data, headerMagic, magic) {
			return true
		}
	}
	return false
}

// maxFalse limits how many places in a flat image may look like a blob's header without being one.
const maxFalse = 64

// FindBTF finds the BTF of the kernel in a flat image: the largest blob, of either byte order, at
// any offset. Smaller blobs may belong to the BPF programs that are built into the kernel
// (kernel/bpf/preload). It returns nil if there is no blob. If there is a blob's header but no
// valid blob, the error describes the problem.
// Rule: BTF in the memory image of a kernel.
func FindBTF(image []byte) ([]byte, error) {
	var best []byte
	var wrong error
	failed := 0
	starts := [...]starts{newStarts(image, 0xff&btf.Magic, btf.Magic>>8),
		newStarts(image, btf.Magic>>8, 0xff&btf.Magic)}
	for at := 0; ; {
		at = min(starts[0].startFrom(at), starts[1].startFrom(at))
		if at == len(image) {
			break
		}
		blob, err := btf.Prefix(image[at:])
		if err != nil {
			at++
			continue
		}
		if _, err := btf.Parse(blob, nil); err != nil {
			if failed++; failed > maxFalse {
				return nil, fmt.Errorf("more than %d places look like BTF but are not valid", maxFalse)
			}
			if wrong == nil {
				wrong = fmt.Errorf("at offset %#x of the kernel: %w", at, err)
			}
			at++
			continue
		}
		if len(blob) > len(best) {
			best = blob
		}
		at += len(blob)
	}
	if best != nil {
		wrong = nil
	}
	return best, wrong
}

// starts finds a header's first bytes, in one byte order: the magic number, the version, no flags.
type starts struct {
	image  []byte
	header [4]byte
	next   int // the next start, or the end of the image
}

func newStarts(image []byte, magic0, magic1 byte) starts {
	return starts{image: image, header: [4]byte{magic0, magic1, btf.Version, 0}, next: -1}
}

// startFrom returns the first start at or after an offset, or the end of the image. Offsets must
// not decrease from call to call, so that all calls together search the image only once.
func (s *starts) startFrom(at int) int {
	if s.next < at {
		s.next = len(s.image)
		if i := bytes.Index(s.image[at:], s.header[:]); i >= 0 {
			s.next = at + i
		}
	}
	return s.next
}
