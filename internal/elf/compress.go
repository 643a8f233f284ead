package elf

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

const (
	maxInflated   = 4 << 30 // bytes; larger sections are refused
	maxZlibRatio  = 1100    // a bit more than the largest that deflate reaches, 1032
	trustedRatio  = 32      // up to this ratio the announced size is allocated at once
	trustedSize   = 1 << 20 // bytes that are allocated at once whatever the ratio
	maxZstdWindow = 1 << 28 // bytes; level 22 of zstd uses 1<<27
)

// decompress returns the content of a compressed section, in the gABI form (it begins with a
// compression header) or the GNU form (it begins with "ZLIB" and the big-endian size).
func (s *Section) decompress() ([]byte, error) {
	header := 12
	if s.Flags&stdelf.SHF_COMPRESSED != 0 && s.f.AddrSize == 8 {
		header = 24
	}
	if len(s.raw) < header {
		return nil, s.errorf("truncated compression header: %d bytes of %d", len(s.raw), header)
	}
	head, body, bo := s.raw[:header], s.raw[header:], s.f.Order
	var size uint64
	kind := stdelf.COMPRESS_ZLIB
	switch {
	case s.Flags&stdelf.SHF_COMPRESSED == 0:
		size = binary.BigEndian.Uint64(head[4:])
	case s.f.AddrSize == 8:
		kind, size = stdelf.CompressionType(bo.Uint32(head)), bo.Uint64(head[8:])
	default:
		kind, size = stdelf.CompressionType(bo.Uint32(head)), uint64(bo.Uint32(head[4:]))
	}
	if size > maxInflated {
		return nil, s.errorf("announces %d decompressed bytes; at most %d are supported", size,
			int64(maxInflated))
	}
	switch kind {
	case stdelf.COMPRESS_ZLIB:
		if size/maxZlibRatio > uint64(len(body)) {
			return nil, s.errorf("corrupt: %d compressed bytes cannot be %d decompressed ones",
				len(body), size)
		}
		r, err := zlib.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, s.errorf("corrupt zlib data: %w", err)
		}
		defer r.Close()
		return s.inflate(r, "zlib", size)
	case stdelf.COMPRESS_ZSTD:
		r, err := zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxMemory(maxInflated), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, s.errorf("corrupt zstd data: %w", err)
		}
		defer r.Close()
		return s.inflate(r, "zstd", size)
	}
	return nil, s.errorf("unknown compression type %d; zlib (1) and zstd (2) are supported: "+
		"use objcopy --decompress-debug-sections", uint32(kind))
}

// inflate reads exactly size bytes from r. If size is not plausible, the buffer grows with what r
// really returns.
func (s *Section) inflate(r io.Reader, kind string, size uint64) ([]byte, error) {
	n := min(size, max(trustedSize, trustedRatio*uint64(len(s.raw))))
	buf := make([]byte, n)
	for done := uint64(0); ; {
		m, err := io.ReadFull(r, buf[done:])
		done += uint64(m)
		if err != nil {
			return nil, s.errorf("corrupt %s data: %d of %d bytes, then: %w", kind, done, size, err)
		}
		if done == size {
			break
		}
		grown := make([]byte, min(size, 2*done))
		copy(grown, buf)
		buf = grown
	}
	var extra [1]byte
	if m, err := io.ReadFull(r, extra[:]); m != 0 || err != io.EOF {
		if m != 0 {
			return nil, s.errorf("corrupt %s data: more than the announced %d bytes", kind, size)
		}
		return nil, s.errorf("corrupt %s data: %w", kind, err)
	}
	return buf, nil
}
