// Package xz decompresses, in memory, the form of xz files that tar and xz usually write: one
// stream of one block, with LZMA2 as its only filter. This takes about 0.6 times as long as with
// the library that package kernelimage uses for all other xz files.
//
//	xz.go     the container: The .xz File Format, version 1.2.1
//	lzma2.go  chunks
//	lzma.go   LZMA, by the rules of XZ Utils (lzma_decoder.c)
package xz

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"hash/crc64"
)

const (
	magic       = "\xfd7zXZ\x00"
	footerMagic = "YZ"
	headerSize  = 12 // the size of the stream's header, and of its footer
	lzma2Filter = 0x21
	maxWindow   = 1 << 27
)

// The kinds of checksum, by their numbers in a stream's header.
const (
	checkNone  = 0
	checkCRC32 = 1
	checkCRC64 = 4
)

var crc64Table = crc64.MakeTable(crc64.ECMA)

// Decompress returns the content of an xz file. ok is false if the file is damaged, has a different
// form, or has more than limit bytes of content; only a complete decoder can find out which of
// these is the reason.
func Decompress(data []byte, limit int) (content []byte, ok bool) {
	f, ok := parse(data)
	if !ok || f.size > uint64(limit) || len(data)-f.end < maxSymbolSize {
		return nil, false
	}
	content = make([]byte, f.size, f.size+wordSize)
	if !decodeChunks(data[:f.end], f.begin, content, f.window) {
		return nil, false
	}
	var sum []byte
	switch f.check {
	case checkCRC32:
		sum = binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(content))
	case checkCRC64:
		sum = binary.LittleEndian.AppendUint64(nil, crc64.Checksum(content, crc64Table))
	}
	return content, bytes.Equal(sum, f.sum)
}

// file describes the chunks, according to the container.
type file struct {
	begin, end int    // of the chunks
	size       uint64 // of the content, in bytes
	window     uint32 // how far back a match may begin, in bytes
	check      byte
	sum        []byte // the checksum of the content
}

// parse reads the container: its headers at the beginning, and its index and footer at the end.
func parse(data []byte) (f file, ok bool) {
	n := len(data)
	if n < 2*headerSize+8 || n%4 != 0 || !bytes.HasPrefix(data, []byte(magic)) ||
		!bytes.HasSuffix(data, []byte(footerMagic)) {
		return f, false
	}
	flags, footer := data[6:8], data[n-headerSize:]
	indexSize := uint64(binary.LittleEndian.Uint32(footer[4:])+1) * 4
	if !sealed(flags, data[8:12]) || !sealed(footer[4:10], footer) || flags[0] != 0 ||
		!bytes.Equal(flags, footer[8:10]) || indexSize < 8 || indexSize > uint64(n-2*headerSize-8) {
		return f, false
	}
	at := n - headerSize - int(indexSize)
	index := data[at : n-headerSize]
	block := data[headerSize:at]
	f.check = flags[1]
	sumSize, known := map[byte]int{checkNone: 0, checkCRC32: 4, checkCRC64: 8}[f.check]
	blockSize, size, ok := parseIndex(index)
	header := (int(block[0]) + 1) * 4
	if !ok || !known || block[0] == 0 || len(block)-header < 4 ||
		blockSize > uint64(len(block)) || (blockSize+3)/4*4 != uint64(len(block)) ||
		blockSize < uint64(header+sumSize+1) {
		return f, false
	}
	f.size = size
	compressed := blockSize - uint64(header+sumSize)
	if f.window, ok = parseBlockHeader(block[:header], compressed, size); !ok {
		return f, false
	}
	f.begin, f.end = headerSize+header, headerSize+int(blockSize)-sumSize
	// The padding is between the chunks and the checksum.
	f.sum = block[len(block)-sumSize:]
	return f, zero(block[int(blockSize)-sumSize : len(block)-sumSize])
}

// sealed reports whether the first bytes of sum are the CRC32 of data.
func sealed(data, sum []byte) bool {
	return crc32.ChecksumIEEE(data) == binary.LittleEndian.Uint32(sum)
}

func zero(data []byte) bool { return len(bytes.Trim(data, "\x00")) == 0 }

// parseIndex returns the only record of an index: the size of the block without its padding, and
// the size of its content.
func parseIndex(data []byte) (block, content uint64, ok bool) {
	n := len(data) - 4
	if data[0] != 0 || !sealed(data[:n], data[n:]) {
		return 0, 0, false
	}
	rest := data[1:n]
	var values [3]uint64 // the number of records, and the record
	for i := range values {
		if values[i], rest, ok = uvarint(rest); !ok {
			return 0, 0, false
		}
	}
	return values[1], values[2], values[0] == 1 && len(rest) < 4 && zero(rest)
}

// uvarint reads a number that takes up to 9 bytes, and also returns the bytes after it.
func uvarint(data []byte) (v uint64, rest []byte, ok bool) {
	v, size := binary.Uvarint(data)
	if size <= 0 || size > 9 || size > 1 && data[size-1] == 0 {
		return 0, nil, false
	}
	return v, data[size:], true
}

// parseBlockHeader returns the size of the window, if LZMA2 is the only filter. The header may have
// the sizes of the compressed data and of the content, which must equal those in the index. xz has
// written these sizes since version 5.6; earlier versions write them only with several threads.
func parseBlockHeader(data []byte, compressed, content uint64) (window uint32, ok bool) {
	n := len(data) - 4
	if !sealed(data[:n], data[n:]) {
		return 0, false
	}
	flags, rest := data[1], data[2:n]
	for _, size := range []struct {
		flag byte
		want uint64
	}{{0x40, compressed}, {0x80, content}} {
		if flags&size.flag != 0 {
			var v uint64
			if v, rest, ok = uvarint(rest); !ok || v != size.want {
				return 0, false
			}
			flags &^= size.flag
		}
	}
	if flags != 0 || len(rest) < 3 || rest[0] != lzma2Filter || rest[1] != 1 || rest[2] > 40 ||
		!zero(rest[3:]) {
		return 0, false
	}
	bits := rest[2]
	size := uint64(2+bits&1) << (bits>>1 + 11)
	return uint32(min(size, maxWindow)), size <= maxWindow
}
