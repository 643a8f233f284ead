package kernelimage

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
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
	// It returns no more than limit bytes that are of use.
	open func(r *bytes.Reader, limit int) (io.Reader, error)
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
	{"bzip2", "BZh", openBzip2},
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

// headSize is how many bytes of a layer are looked at to find its format: up to the setup header of
// a bzImage.
const headSize = 1024

// decompress returns at most limit bytes; more are an error. Of what isn't wanted, by its first
// bytes, it returns only these. What follows the compressed data of gzip, xz and lzma, such as a
// device tree after Image.gz, is not looked at.
func (f *format) decompress(data []byte, limit int,
	wanted func(head []byte) bool) (out []byte, whole bool, err error) {
	if f.open == nil {
		return nil, false, fmt.Errorf("compressed with %s, which is not supported: decompress it "+
			"first, with scripts/extract-vmlinux of the kernel's source or with %[1]sp -d", f.name)
	}
	r, err := f.open(bytes.NewReader(data), limit)
	if err != nil {
		return nil, false, f.damaged(err)
	}
	if c, ok := r.(io.Closer); ok {
		defer c.Close()
	}
	var b bytes.Buffer
	_, err = io.CopyN(&b, r, headSize)
	if err == nil && !wanted(b.Bytes()) {
		return b.Bytes(), false, nil
	}
	if err == nil {
		_, err = io.Copy(&b, io.LimitReader(r, int64(limit)+1-headSize))
	}
	if err != nil && err != io.EOF {
		return nil, false, f.damaged(err)
	}
	if b.Len() > limit {
		return nil, false, fmt.Errorf("more than %d bytes when decompressed; if that is right, "+
			"decompress it first with scripts/extract-vmlinux of the kernel's source, or raise "+
			"--max-decompressed", limit)
	}
	return b.Bytes(), true, nil
}

func (f *format) damaged(err error) error {
	return fmt.Errorf("damaged, or compressed in an unusual way (%w): decompress it first with "+
		"scripts/extract-vmlinux of the kernel's source, or get it anew", err)
}

// streams reads streams of one format that follow one another as one.
type streams struct {
	r    io.Reader
	next func() (io.Reader, error) // io.EOF: what follows, if anything, is none
}

func (s *streams) Read(p []byte) (n int, err error) {
	for {
		if n, err = s.r.Read(p); err != io.EOF {
			return n, err
		}
		if n > 0 {
			return n, nil
		}
		r, err := s.next()
		if err != nil {
			return 0, err
		}
		s.r = r
	}
}

// begins reports whether what is left of r begins with a magic number.
func begins(r *bytes.Reader, magic string) bool {
	head := make([]byte, len(magic))
	n, _ := r.ReadAt(head, r.Size()-int64(r.Len()))
	return string(head[:n]) == magic
}

func openGzip(r *bytes.Reader, _ int) (io.Reader, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return &streams{z, func() (io.Reader, error) {
		if !begins(r, "\x1f\x8b\x08") {
			return nil, io.EOF
		}
		err := z.Reset(r)
		z.Multistream(false)
		return z, err
	}}, nil
}

// openXZ takes a package that knows the filters of machine code, of which scripts/xz_wrap.sh has xz
// use one (--x86, --powerpc and others).
func openXZ(r *bytes.Reader, _ int) (io.Reader, error) {
	z, err := xz.NewReader(r, maxWindow)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return &streams{z, func() (io.Reader, error) {
		err := z.Reset(nil)
		if err == xz.ErrFormat || err == xz.ErrBuf { // another header, or not as long as one
			err = io.EOF
		}
		z.Multistream(false)
		return z, err
	}}, nil
}

func openZstd(r *bytes.Reader, _ int) (io.Reader, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	return z.IOReadCloser(), nil
}

func openLZ4(r *bytes.Reader, _ int) (io.Reader, error) { return lz4.NewReader(r), nil }

func openBzip2(r *bytes.Reader, _ int) (io.Reader, error) { return bzip2.NewReader(r), nil }

// maxLZMA bounds the streams of lzma in a file: each takes the memory of its window anew.
const maxLZMA = 16

// lzmaStream is a stream of lzma whose header announces no larger window than needed.
type lzmaStream struct {
	*bytes.Reader
	header []byte // what is left of it
}

func newLZMAStream(r *bytes.Reader, limit int) lzmaStream {
	header := make([]byte, lzma.HeaderLen)
	n, _ := io.ReadFull(r, header)
	if window := header[1:]; binary.LittleEndian.Uint32(window) <= maxWindow {
		binary.LittleEndian.PutUint32(window, min(binary.LittleEndian.Uint32(window), uint32(limit)))
	}
	return lzmaStream{r, header[:n]}
}

func (s *lzmaStream) Read(p []byte) (int, error) {
	if len(s.header) == 0 {
		return s.Reader.Read(p)
	}
	n := copy(p, s.header)
	s.header = s.header[n:]
	return n, nil
}

func openLZMA(r *bytes.Reader, limit int) (io.Reader, error) {
	count := 0
	next := func() (io.Reader, error) {
		if count++; count > maxLZMA {
			return nil, fmt.Errorf("more than %d streams", maxLZMA)
		}
		stream := newLZMAStream(r, min(limit, maxWindow))
		return lzma.ReaderConfig{DictCap: maxWindow}.NewReader(&stream)
	}
	first, err := next()
	return &streams{first, func() (io.Reader, error) {
		if !begins(r, "\x5d\x00\x00") {
			return nil, io.EOF
		}
		return next()
	}}, err
}
