package kimage

import (
	"bytes"
	"compress/bzip2"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/mikelolasagasti/xz"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz/lzma"
)

// maxWindow is how many bytes back a format may refer to, which a decompressor keeps in memory.
// Kernels are compressed with 128 MiB (zstd -22, scripts/xz_wrap.sh).
const maxWindow = 1 << 27

// format is a format of compressed data.
type format struct {
	name  string
	magic string // the first bytes
	// open returns what decompresses; nil if the format is not supported.
	open func(r io.Reader) (io.Reader, error)
}

// formats are those that a kernel can be compressed with (CONFIG_KERNEL_GZIP and others), with the
// magic numbers of scripts/extract-vmlinux. LZMA has none; it is known by the parameters that all
// encoders write by default, and a dictionary of a multiple of 64 KiB. LZ4 is the legacy format,
// and the one that the tool lz4 writes by default.
var formats = []format{
	{"gzip", "\x1f\x8b\x08", openGzip},
	{"xz", "\xfd7zXZ\x00", openXZ},
	{"zstd", "\x28\xb5\x2f\xfd", openZstd},
	{"lz4", "\x02\x21\x4c\x18", openLZ4},
	{"lz4", "\x04\x22\x4d\x18", openLZ4},
	{"lzma", "\x5d\x00\x00", openLZMA},
	{"bzip2", "BZh", func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }},
	{"lzo", "\x89LZO\x00\r\n\x1a\n", nil},
}

// formatOf is the format that data begins like, or nil.
func formatOf(data []byte) *format {
	for i := range formats {
		if bytes.HasPrefix(data, []byte(formats[i].magic)) {
			return &formats[i]
		}
	}
	return nil
}

// decompress returns at most limit bytes; more are an error. What follows the compressed data of
// gzip and xz, such as a device tree after Image.gz, is not looked at.
func (f *format) decompress(data []byte, limit int) ([]byte, error) {
	if f.open == nil {
		return nil, fmt.Errorf("compressed with %s, which is not supported: decompress it first, with "+
			"scripts/extract-vmlinux of the kernel's source or with %[1]sp -d", f.name)
	}
	r, err := f.open(bytes.NewReader(data))
	if err != nil {
		return nil, f.damaged(err)
	}
	if c, ok := r.(io.Closer); ok {
		defer c.Close()
	}
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return nil, f.damaged(err)
	}
	if n > int64(limit) {
		return nil, fmt.Errorf("more than %d bytes when decompressed, which no kernel has", limit)
	}
	return out.Bytes(), nil
}

func (f *format) damaged(err error) error {
	return fmt.Errorf("damaged, or compressed in an unusual way (%w): decompress it first with "+
		"scripts/extract-vmlinux of the kernel's source, or get it anew", err)
}

func openGzip(r io.Reader) (io.Reader, error) {
	z, err := gzip.NewReader(r)
	if err == nil {
		z.Multistream(false)
	}
	return z, err
}

// openXZ takes a package that knows the filters of machine code, of which scripts/xz_wrap.sh has xz
// use one (--x86, --powerpc and others).
func openXZ(r io.Reader) (io.Reader, error) {
	z, err := xz.NewReader(r, maxWindow)
	if err == nil {
		z.Multistream(false)
	}
	return z, err
}

func openZstd(r io.Reader) (io.Reader, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxSize),
		zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	return z.IOReadCloser(), nil
}

func openLZ4(r io.Reader) (io.Reader, error) { return lz4.NewReader(r), nil }

func openLZMA(r io.Reader) (io.Reader, error) {
	return lzma.ReaderConfig{DictCap: maxWindow}.NewReader(r)
}
