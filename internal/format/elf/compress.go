package elf

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// The best ratios of the formats. Deflate makes 258 bytes of two bits. Zstandard has a block of
// four bytes for up to 128 KiB of one byte (RFC 8878, 3.1.1.2).
const (
	zlibRatio = 1032
	zstdRatio = 128 << 10 / 4
)

// The limits of what a file's compressed sections may have when decompressed, all together: debug
// information is rarely more than ten times as large as its compressed form. MaxDecompressed raises
// them.
const (
	usualRatio        = 32 // times the size of the file
	smallDecompressed = 256 << 10
)

// compressedData is a compressed section: what its header says, and what follows that.
type compressedData struct {
	kind stdelf.CompressionType
	size uint64 // decompressed
	body []byte
}

// compressedData reads the header of a compressed section, in the gABI form or the GNU form (it
// begins with "ZLIB" and the big-endian size).
func (s *Section) compressedData() (c compressedData, err error) {
	header := 12
	if s.Flags&stdelf.SHF_COMPRESSED != 0 && s.f.AddrSize == 8 {
		header = 24
	}
	if len(s.raw) < header {
		return c, s.errorf("truncated compression header: %d bytes of %d", len(s.raw), header)
	}
	head, bo := s.raw[:header], s.f.Order
	c.body = s.raw[header:]
	switch {
	case s.Flags&stdelf.SHF_COMPRESSED == 0:
		c.kind, c.size = stdelf.COMPRESS_ZLIB, binary.BigEndian.Uint64(head[4:])
	case s.f.AddrSize == 8:
		c.kind, c.size = stdelf.CompressionType(bo.Uint32(head)), bo.Uint64(head[8:])
	default:
		c.kind, c.size = stdelf.CompressionType(bo.Uint32(head)), uint64(bo.Uint32(head[4:]))
	}
	return c, nil
}

// decompress returns the content of a compressed section.
func (s *Section) decompress() ([]byte, error) {
	c, err := s.compressedData()
	if err != nil {
		return nil, err
	}
	ratio := uint64(zlibRatio)
	switch c.kind {
	case stdelf.COMPRESS_ZLIB:
	case stdelf.COMPRESS_ZSTD:
		ratio = zstdRatio
	default:
		return nil, s.errorf("unknown compression type %d; zlib (1) and zstd (2) are supported: "+
			"use objcopy --decompress-debug-sections", uint32(c.kind))
	}
	if c.size/ratio > uint64(len(c.body)) {
		return nil, s.errorf("corrupt: %d compressed bytes cannot be %d decompressed ones",
			len(c.body), c.size)
	}
	if err := s.f.checkDecompressed(); err != nil {
		return nil, err
	}
	buf := s.f.m.alloc(int(c.size))
	if c.kind == stdelf.COMPRESS_ZLIB {
		return buf, s.inflate(c.body, buf)
	}
	return buf, s.unzstd(c.body, buf)
}

// checkDecompressed refuses a file whose compressed sections would take far more memory than the
// file's size suggests. It counts all of them, so that what is refused doesn't depend on which are
// read, and in which order.
func (f *File) checkDecompressed() error {
	total := f.decompressed()
	limit := max(smallDecompressed, usualRatio*len(f.data), f.MaxDecompressed)
	if total > limit {
		return f.errorf("its compressed sections decompress to %d bytes, more than %d; if that is right, "+
			"run llvm-objcopy --decompress-debug-sections on the file, or give btfgen or btfdedup "+
			"--max-decompressed=%d", total, limit, total)
	}
	return nil
}

// sumDecompressed is how many bytes the compressed sections say to have when decompressed.
func (f *File) sumDecompressed() int {
	total := uint64(0)
	for _, s := range f.Sections {
		if s.f != f || !s.compressed() {
			continue
		}
		if c, err := s.compressedData(); err == nil {
			total += min(c.size, math.MaxInt-total)
		}
	}
	return int(total)
}

// inflate decompresses zlib's data to buf, which it fills.
func (s *Section) inflate(body, buf []byte) error {
	r, err := zlib.NewReader(bytes.NewReader(body))
	if err != nil {
		return s.errorf("corrupt zlib data: %w", err)
	}
	defer r.Close()
	if n, err := io.ReadFull(r, buf); err != nil {
		return s.errorf("corrupt zlib data: %d of %d bytes, then: %w", n, len(buf), err)
	}
	var extra [1]byte
	switch n, err := io.ReadFull(r, extra[:]); {
	case n != 0:
		return s.errorf("corrupt zlib data: more than the announced %d bytes", len(buf))
	case err != io.EOF:
		return s.errorf("corrupt zlib data: %w", err)
	}
	return nil
}

// unzstd decompresses Zstandard's data to buf, which it fills. What the data refers to is in buf
// itself, so no window takes memory.
func (s *Section) unzstd(body, buf []byte) error {
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return s.errorf("zstd: %w", err)
	}
	defer r.Close()
	out, err := r.DecodeAll(body, buf[:0:len(buf)])
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return s.errorf("corrupt zstd data: more than the announced %d bytes", len(buf))
	case err == nil && len(out) < len(buf):
		err = io.ErrUnexpectedEOF
		fallthrough
	case err != nil:
		return s.errorf("corrupt zstd data: %d of %d bytes, then: %w", len(out), len(buf), err)
	}
	return nil
}
