package elf

import (
	"encoding/binary"
	"testing"
)

// FuzzBuildID looks for a build-id in arbitrary bytes.
func FuzzBuildID(f *testing.F) {
	f.Add([]byte("\x04\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00GNU\x00\xab\xcd\x00\x00"))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\x03\x00\x00\x00GNU\x00\xab\xcd\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, align := range []uint64{4, 8} {
			file := &File{Order: binary.LittleEndian}
			if id := file.findBuildID(data, align); len(id) > len(data) {
				t.Errorf("%d bytes of %d", len(id), len(data))
			}
		}
	})
}
