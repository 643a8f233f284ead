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

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// These are the best ratios that the formats can reach. In deflate, two bits can encode 258 bytes.
// In Zstandard, a block of four bytes can encode 128 KiB of equal bytes (RFC 8878, 3.1.1.2).
const (
	zlibRatio = 1032
	zstdRatio = 128 << 10 / 4
)

// These limits are for all decompressed sections of a file together. Debug information is rarely
// more than ten times as large as its compressed form. File.MaxDecompressed can raise the limit.
const (
	usualRatio        = 32 // times the size of the file
	smallDecompressed = 256 << 10
)

// compressedData has the values of a compression header, and the bytes after that header.
type compressedData struct {
	kind stdelf.CompressionType
	size uint64 // bytes when decompressed
	body []byte
}

// compressedData reads the header of a compressed section, in the gABI form or the GNU form (which
// begins with "ZLIB" and the big-endian size).
func (s *Section) compressedData() (c compressedData, err error) {
	header := 12
	if s.Flags&stdelf.SHF_COMPRESSED != 0 && s.f.AddrSize == 8 {
		header = 24
	}
	if len(s.raw) < header {
		return c, s.damaged("truncated compression header: %d bytes instead of %d", len(s.raw), header)
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
		return nil, s.errorf("unknown compression type %d; only zlib (1) and zstd (2) are supported: "+
			"run objcopy --decompress-debug-sections", uint32(c.kind))
	}
	if c.size/ratio > uint64(len(c.body)) {
		return nil, s.damaged("corrupt: %d compressed bytes cannot decompress to %d bytes",
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
// file's size suggests. It counts all compressed sections, so that the result doesn't depend on
// which sections are read, or in which order.
// Rule: compressed sections: how large they may be. 32 times the file or 256 KiB;
// --max-decompressed raises it.
func (f *File) checkDecompressed() error {
	total := f.decompressed()
	limit := max(smallDecompressed, usualRatio*len(f.data), f.MaxDecompressed)
	if total > limit {
		return message.Marked(f.errorf("its compressed sections decompress to %d bytes, more than %d; "+
			"if that is right, run llvm-objcopy --decompress-debug-sections on the file", total, limit),
			message.ErrLimit)
	}
	return nil
}

// sumDecompressed adds up the decompressed sizes in the headers of all compressed sections.
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

// inflate decompresses zlib data, which must fill buf.
func (s *Section) inflate(body, buf []byte) error {
	r, err := zlib.NewReader(bytes.NewReader(body))
	if err != nil {
		return s.damaged("corrupt zlib data: %w", err)
	}
	defer r.Close()
	if n, err := io.ReadFull(r, buf); err != nil {
		return s.damaged("corrupt zlib data: after %d of %d bytes: %w", n, len(buf), err)
	}
	var extra [1]byte
	switch n, err := io.ReadFull(r, extra[:]); {
	case n != 0:
		return s.damaged("corrupt zlib data: more than the announced %d bytes", len(buf))
	case err != io.EOF:
		return s.damaged("corrupt zlib data: %w", err)
	}
	return nil
}

// unzstd decompresses zstd data, which must fill buf. Back-references are resolved in buf itself,
// so no memory is needed for a window.
func (s *Section) unzstd(body, buf []byte) error {
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return s.errorf("zstd: %w", err)
	}
	defer r.Close()
	out, err := r.DecodeAll(body, buf[:0:len(buf)])
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return s.damaged("corrupt zstd data: more than the announced %d bytes", len(buf))
	case err == nil && len(out) < len(buf):
		err = io.ErrUnexpectedEOF
		fallthrough
	case err != nil:
		return s.damaged("corrupt zstd data: after %d of %d bytes: %w", len(out), len(buf), err)
	}
	return nil
}
