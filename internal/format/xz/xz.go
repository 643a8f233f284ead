// Package xz decompresses the form of xz files that tar and xz usually write: one stream of blocks
// with LZMA2 as their only filter. This takes about 0.6 times as long as with the library that
// package kernelimage uses for all other xz files.
//
//	xz.go      the container: The .xz File Format, version 1.2.1
//	reader.go  decompresses the blocks one after the other, on another thread
//	lzma2.go   chunks
//	lzma.go    LZMA, by the rules of XZ Utils (lzma_decoder.c)
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
	if !ok || f.size > uint64(limit) {
		return nil, false
	}
	content = make([]byte, f.size, f.size+wordSize)
	at := uint64(0)
	for i := range f.blocks {
		b := &f.blocks[i]
		// The decoder may write a word after the end, so the blocks are decoded in order.
		if !f.decode(b, content[at:at+b.size:at+b.size+wordSize]) {
			return nil, false
		}
		at += b.size
	}
	return content, true
}

// file describes the blocks, according to the container.
type file struct {
	data   []byte
	blocks []block
	size   uint64 // of the content, in bytes
	check  byte
}

type block struct {
	begin, end int    // of the chunks
	size       uint64 // of the content, in bytes
	window     uint32 // how far back a match may begin, in bytes
	sum        []byte // the checksum of the content
}

// decode decompresses a block to out, which has the size of the block's content, and wordSize bytes
// more of capacity.
func (f *file) decode(b *block, out []byte) bool {
	if !decodeChunks(f.data[:b.end], b.begin, out, b.window) {
		return false
	}
	var sum []byte
	switch f.check {
	case checkCRC32:
		sum = binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(out))
	case checkCRC64:
		sum = binary.LittleEndian.AppendUint64(nil, crc64.Checksum(out, crc64Table))
	}
	return bytes.Equal(sum, b.sum)
}

// parse reads the container: its headers at the beginning, its index and footer at the end, and the
// headers of the blocks.
func parse(data []byte) (f *file, ok bool) {
	n := len(data)
	if n < 2*headerSize+8 || n%4 != 0 || !bytes.HasPrefix(data, []byte(magic)) ||
		!bytes.HasSuffix(data, []byte(footerMagic)) {
		return nil, false
	}
	flags, footer := data[6:8], data[n-headerSize:]
	indexSize := uint64(binary.LittleEndian.Uint32(footer[4:])+1) * 4
	if !sealed(flags, data[8:12]) || !sealed(footer[4:10], footer) || flags[0] != 0 ||
		!bytes.Equal(flags, footer[8:10]) || indexSize < 8 || indexSize > uint64(n-2*headerSize-8) {
		return nil, false
	}
	end := n - headerSize - int(indexSize)
	f = &file{data: data, check: flags[1]}
	records, ok := parseIndex(data[end : n-headerSize])
	if !ok {
		return nil, false
	}
	at := headerSize
	for _, r := range records {
		size := (r.block + 3) / 4 * 4
		if r.block > uint64(end-at) || size > uint64(end-at) {
			return nil, false
		}
		b, ok := f.parseBlock(at, int(r.block), r.content)
		if !ok || len(data)-b.end < maxSymbolSize || f.size+b.size < f.size {
			return nil, false
		}
		f.blocks = append(f.blocks, b)
		f.size += b.size
		at += int(size)
	}
	return f, at == end
}

// parseBlock reads the header of a block that begins at an offset. The parameters unpadded and
// content are the sizes in the index.
func (f *file) parseBlock(at, unpadded int, content uint64) (b block, ok bool) {
	data := f.data[at : at+(unpadded+3)/4*4]
	sumSize, known := map[byte]int{checkNone: 0, checkCRC32: 4, checkCRC64: 8}[f.check]
	if len(data) == 0 {
		return b, false
	}
	header := (int(data[0]) + 1) * 4
	if !known || data[0] == 0 || len(data)-header < 4 || unpadded < header+sumSize+1 {
		return b, false
	}
	b.size = content
	compressed := uint64(unpadded - header - sumSize)
	if b.window, ok = parseBlockHeader(data[:header], compressed, content); !ok {
		return b, false
	}
	b.begin, b.end = at+header, at+unpadded-sumSize
	// The padding is between the chunks and the checksum.
	b.sum = data[len(data)-sumSize:]
	return b, zero(data[unpadded-sumSize : len(data)-sumSize])
}

// sealed reports whether the first bytes of sum are the CRC32 of data.
func sealed(data, sum []byte) bool {
	return crc32.ChecksumIEEE(data) == binary.LittleEndian.Uint32(sum)
}

func zero(data []byte) bool { return len(bytes.Trim(data, "\x00")) == 0 }

// record is what the index says about a block.
type record struct{ block, content uint64 } // the sizes of the block without its padding

// parseIndex returns the records of an index, of which there is at least one.
func parseIndex(data []byte) (records []record, ok bool) {
	n := len(data) - 4
	if data[0] != 0 || !sealed(data[:n], data[n:]) {
		return nil, false
	}
	count, rest, ok := uvarint(data[1:n])
	if !ok || count == 0 || count > uint64(len(rest)/2) {
		return nil, false
	}
	records = make([]record, count)
	for i := range records {
		for _, v := range []*uint64{&records[i].block, &records[i].content} {
			if *v, rest, ok = uvarint(rest); !ok || *v > 1<<62 {
				return nil, false
			}
		}
	}
	return records, len(rest) < 4 && zero(rest)
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
