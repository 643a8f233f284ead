package object

import (
	"encoding/binary"
	"fmt"
	"math"
)

// appendList appends an ascending list of numbers: its length, then the difference of each number
// from the previous one, where least-1 precedes the first. So no difference is 0.
func appendList(b []byte, list []uint32, least uint32) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	last := uint64(least)
	for _, v := range list {
		b = binary.AppendUvarint(b, uint64(v)-last+1)
		last = uint64(v) + 1
	}
	return b
}

// decoder reads varints (as encoding/binary writes them) until the first error.
type decoder struct {
	data []byte
	off  int
	err  error
}

// fail keeps the first error.
func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("section %s, offset %#x: %s; make the file again with this btfgen",
			SectionUnits, d.off, fmt.Sprintf(format, args...))
	}
}

func (d *decoder) failVersion(is uint64, want int) {
	d.fail("written by a different version of btfgen (format %d, not %d)", is, want)
}

func (d *decoder) uint() uint64 {
	if d.err != nil {
		return 0
	}
	if d.off < len(d.data) && d.data[d.off] < 0x80 {
		d.off++
		return uint64(d.data[d.off-1])
	}
	v, n := binary.Uvarint(d.data[d.off:])
	if n <= 0 {
		d.fail("a number is truncated or too long")
		return 0
	}
	d.off += n
	return v
}

func (d *decoder) below(limit uint64, what string) uint32 {
	v := d.uint()
	if v >= limit && d.err == nil {
		d.fail("%s %d is not below %d", what, v, limit)
		return 0
	}
	return uint32(v)
}

func (d *decoder) uint32(what string) uint32 { return d.below(math.MaxUint32+1, what) }

// count reads how many things follow. Each thing has at least size bytes.
func (d *decoder) count(size int, what string) int {
	v := d.uint()
	if d.err == nil && v > uint64((len(d.data)-d.off)/size) {
		d.fail("%d %s are more than the section can hold", v, what)
		return 0
	}
	return int(v)
}

func (d *decoder) bytes(n int) []byte {
	if d.err != nil {
		return nil
	}
	if n > len(d.data)-d.off {
		d.fail("%d bytes expected, but only %d are left", n, len(d.data)-d.off)
		return nil
	}
	d.off += n
	return d.data[d.off-n : d.off]
}

// list reads a list, written by appendList, of numbers from least to limit-1.
func (d *decoder) list(least, limit uint32, what string) []uint32 {
	n := d.count(1, what+"s")
	list := make([]uint32, 0, n)
	next := uint64(least)
	for range n {
		step := d.uint()
		if d.err == nil && (step == 0 || step > uint64(limit)-next) {
			d.fail("%s is out of range or out of order", what)
		}
		if d.err != nil {
			return nil
		}
		next += step
		list = append(list, uint32(next-1))
	}
	return list
}
