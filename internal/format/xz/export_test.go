package xz

import (
	"encoding/binary"
	"hash/crc32"
)

// Chunks returns the LZMA2 chunks of a file that Decompress can read.
func Chunks(data []byte) []byte {
	f, _ := parse(data)
	return data[f.blocks[0].begin:f.blocks[0].end]
}

// Wrap makes an xz file from LZMA2 chunks. The parameter size is the size of the decompressed
// content. The file has no checksum of that content.
func Wrap(chunks []byte, size uint32) []byte {
	seal := func(data []byte, from int) []byte {
		return binary.LittleEndian.AppendUint32(data, crc32.ChecksumIEEE(data[from:]))
	}
	pad := func(data []byte) []byte { return append(data, make([]byte, -len(data)&3)...) }
	data := seal([]byte(magic+"\x00\x00"), 6)
	data = seal(append(data, 2, 0, lzma2Filter, 1, 22, 0, 0, 0), headerSize)
	data = append(data, chunks...)
	block := uint64(len(data) - headerSize)
	data = pad(data)
	at := len(data)
	data = binary.AppendUvarint(append(data, 0, 1), block)
	data = seal(pad(binary.AppendUvarint(data, uint64(size))), at)
	words := uint32(len(data)-at)/4 - 1
	footer := append(binary.LittleEndian.AppendUint32(nil, words), 0, 0)
	data = binary.LittleEndian.AppendUint32(data, crc32.ChecksumIEEE(footer))
	return append(append(data, footer...), footerMagic...)
}
