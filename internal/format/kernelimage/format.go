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

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// maxWindow limits how many bytes back compressed data may refer. A decompressor keeps that many
// bytes in memory. Some kernels need windows of 128 MiB (zstd -22, scripts/xz_wrap.sh).
const maxWindow = 1 << 27

type format struct {
	name, magic string // magic is the first bytes
	// open returns a decompressor; at most limit bytes of its output are used. open is nil if the
	// format is not supported.
	open func(r *bytes.Reader, limit int) (io.Reader, error)
	// whole is nil, or decompresses data in one step, which takes less time or memory than open. size
	// is the likely size of the output. ok is false if the output has more than limit bytes, or if
	// data is unusual or damaged; only open finds out the reason.
	whole func(data []byte, size, limit int) (out []byte, ok bool)
}

// formats are the formats in which a kernel can be compressed (CONFIG_KERNEL_GZIP and others), with
// the magic numbers from scripts/extract-vmlinux. LZMA has none; it is recognised by the parameters
// that all encoders write by default, and by a dictionary size that is a multiple of 64 KiB. LZ4
// has two: for the legacy format, and for the format that the tool lz4 writes by default.
var formats = []format{
	{"gzip", "\x1f\x8b\x08", openGzip, nil},
	{"xz", "\xfd7zXZ\x00", openXZ, nil},
	{"zstd", "\x28\xb5\x2f\xfd", openZstd, wholeZstd},
	{"lz4", "\x02\x21\x4c\x18", openLZ4, nil},
	{"lz4", "\x04\x22\x4d\x18", openLZ4, nil},
	{"lzma", "\x5d\x00\x00", openLZMA, nil},
	{"bzip2", "BZh", openBzip2, nil},
	{"lzo", "\x89LZO\x00\r\n\x1a\n", nil, nil},
}

// formatOf returns the format whose magic number data begins with, or nil.
func formatOf(data []byte) *format {
	for i := range formats {
		if bytes.HasPrefix(data, []byte(formats[i].magic)) {
			return &formats[i]
		}
	}
	return nil
}

// HeadSize is how many bytes of a layer suffice to recognise its format, even that of a bzImage.
const HeadSize = 1024

// layer is a decompressed payload.
type layer struct {
	data  []byte
	whole bool // data is not only the first bytes
	size  int  // how many bytes were decompressed, even if there is an error
}

// decompress decompresses a payload. It is an error if the output has more than limit bytes. If
// wanted refuses the first bytes, only those are returned. Anything after gzip, xz or lzma data,
// such as a device tree after Image.gz, is ignored.
func (p *payload) decompress(limit int, wanted func(head []byte) bool) (layer, error) {
	f, data := p.format, p.data
	if f.open == nil {
		return layer{}, f.unsupported()
	}
	size := min(max(p.size, 0), limit)
	if f.whole != nil {
		if out, ok := f.whole(data, size, limit); ok {
			if head := out[:min(HeadSize, len(out))]; !wanted(head) {
				return layer{head, false, len(out)}, nil
			}
			return layer{out, true, len(out)}, nil
		}
	}
	r, err := f.open(bytes.NewReader(data), limit)
	if err != nil {
		return layer{}, f.damaged(err)
	}
	if c, ok := r.(io.Closer); ok {
		defer c.Close()
	}
	var b bytes.Buffer
	b.Grow(size + bytes.MinRead)
	_, err = io.CopyN(&b, r, HeadSize)
	if err == nil && !wanted(b.Bytes()) {
		return layer{b.Bytes(), false, b.Len()}, nil
	}
	if err == nil {
		_, err = io.Copy(&b, io.LimitReader(r, int64(limit)+1-HeadSize))
	}
	if err != nil && err != io.EOF {
		return layer{size: b.Len()}, f.damaged(err)
	}
	if b.Len() > limit {
		return layer{size: b.Len()}, message.Marked(fmt.Errorf("more than %d bytes when "+
			"decompressed; if that is right, decompress the file first with scripts/extract-vmlinux "+
			"from the kernel source", limit), message.ErrLimit)
	}
	return layer{b.Bytes(), true, b.Len()}, nil
}

// NewReader decompresses data, or returns it unchanged if it isn't compressed. Unlike Unpack,
// NewReader doesn't limit how many bytes can be read.
func NewReader(data []byte) (io.ReadCloser, error) {
	f := formatOf(data)
	if f == nil {
		return io.NopCloser(bytes.NewReader(data)), nil
	}
	if f.open == nil {
		return nil, f.unsupported()
	}
	r, err := f.open(bytes.NewReader(data), maxWindow)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	if c, ok := r.(io.ReadCloser); ok {
		return c, nil
	}
	return io.NopCloser(r), nil
}

func (f *format) unsupported() error {
	return fmt.Errorf("compressed with %s, which is not supported: decompress "+
		"the file first, with scripts/extract-vmlinux from the kernel source or with %[1]sp "+
		"-d", f.name)
}

func (f *format) damaged(err error) error {
	return fmt.Errorf("damaged, or compressed in an unusual way (%w): decompress the file first "+
		"with scripts/extract-vmlinux from the kernel source, or fetch it again", err)
}

// streams reads consecutive streams of one format as a single stream.
type streams struct {
	r    io.Reader
	next func() (io.Reader, error) // io.EOF if no stream follows
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

// openXZ uses a package that supports the filters for machine code, because scripts/xz_wrap.sh runs
// xz with such a filter (--x86, --powerpc and others). The package that writes our archives and
// reads lzma doesn't support them, and takes 1.4 times as long.
// Rule: xz: which reader is used.
func openXZ(r *bytes.Reader, _ int) (io.Reader, error) {
	z, err := xz.NewReader(r, maxWindow)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return &streams{z, func() (io.Reader, error) {
		err := z.Reset(nil)
		if err == xz.ErrFormat || err == xz.ErrBuf { // not a header, or too short for one
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

// wholeZstd needs no memory for a window, which is 128 MiB for some kernels (see maxWindow).
func wholeZstd(data []byte, size, limit int) (out []byte, ok bool) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(uint64(max(limit, 1))))
	if err != nil {
		return nil, false
	}
	defer z.Close()
	out, err = z.DecodeAll(data, make([]byte, 0, size))
	return out, err == nil
}

func openLZ4(r *bytes.Reader, _ int) (io.Reader, error) { return lz4.NewReader(r), nil }

func openBzip2(r *bytes.Reader, _ int) (io.Reader, error) { return bzip2.NewReader(r), nil }

// maxLZMA limits the lzma streams in a file, because each one allocates its window again.
const maxLZMA = 16

// lzmaStream is an lzma stream. Its header is changed so that the window is not needlessly large.
type lzmaStream struct {
	*bytes.Reader
	header []byte // the part of the header that is still to be read
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
