package kernelimage

import (
	"bytes"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// headerMagic is where flat images have a magic number, and those that they have: of arm64, of
// riscv, and that of include/linux/pe.h (loongarch, and others in the future).
const headerMagic = 0x38

var flatMagics = []string{"ARM\x64", "RSC\x05", "\xcd\x23\x82\x81"}

func isFlat(data []byte) bool {
	for _, magic := range flatMagics {
		if hasAt(data, headerMagic, magic) {
			return true
		}
	}
	return false
}

// maxFalse is how many places of a flat image may look like the header of a blob without being one.
const maxFalse = 64

// FindBTF finds the BTF of the kernel in a flat image: the largest of the blobs in it, of either
// byte order, at any offset. There may be others, small ones, of the BPF programs that are built
// into the kernel (kernel/bpf/preload). It returns nil if there is none. If nothing is a blob, but
// something has the header of one, the error says what is wrong with that.
func FindBTF(image []byte) ([]byte, error) {
	var best []byte
	var wrong error
	failed := 0
	starts := [...]starts{newStarts(image, 0xff&btf.Magic, btf.Magic>>8),
		newStarts(image, btf.Magic>>8, 0xff&btf.Magic)}
	for at := 0; ; {
		at = min(starts[0].from(at), starts[1].from(at))
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
				return nil, fmt.Errorf("more than %d places look like BTF and are not", maxFalse)
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

// starts finds the starts of headers of one byte order: the magic number, the version and no flags.
type starts struct {
	image  []byte
	header [4]byte
	next   int // the next start, or the end of the image
}

func newStarts(image []byte, magic0, magic1 byte) starts {
	return starts{image: image, header: [4]byte{magic0, magic1, btf.Version, 0}, next: -1}
}

// from is the next start at an offset or after it, or the end of the image. The offset is at least
// that of the call before, so that all calls together pass the image once.
func (s *starts) from(at int) int {
	if s.next < at {
		s.next = len(s.image)
		if i := bytes.Index(s.image[at:], s.header[:]); i >= 0 {
			s.next = at + i
		}
	}
	return s.next
}
