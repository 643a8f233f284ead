package dwarf

import (
	"bytes"
	"encoding/binary"
)

func (p *Prints) mixString(fp *Fingerprint, die uint32, v Value) error {
	v, err := p.r.byOffset(die, v)
	if err != nil {
		return err
	}
	if v.Class == ClassStrp {
		return p.mixOffset(fp, die, v.Val)
	}
	s, err := p.r.StringAt(die, v.Class, v.Val)
	b := printBytes(s)
	fp.mix2(b.A, b.B)
	return err
}

// mixOffset mixes into fp the string at offset off in .debug_str. If equal strings have equal
// offsets, it mixes in the offset, otherwise the content.
func (p *Prints) mixOffset(fp *Fingerprint, die uint32, off uint64) error {
	if p.Merged {
		fp.mix(off)
		return nil
	}
	s, err := p.strp(die, off)
	fp.mix2(s.A, s.B)
	return err
}

// printBytes returns the fingerprint of s, a string or block.
func printBytes(s []byte) Fingerprint {
	fp := Fingerprint{printSeedA, printSeedB}
	for len(s) >= 8 {
		v := binary.LittleEndian.Uint64(s)
		fp = fp.with(v, v)
		s = s[8:]
	}
	v := uint64(len(s)) << 56
	for i, c := range s {
		v |= uint64(c) << (8 * uint(i))
	}
	return fp.with(v, v)
}

// strp returns a fingerprint of the content of the string at offset v in .debug_str.
func (p *Prints) strp(die uint32, v uint64) (Fingerprint, error) {
	str := p.r.D.str
	if block := uint32(v >> blockShift); p.recent[block%recentBlocks] != block+1 {
		p.readBlock(block)
	}
	fp, ok := printString(str[min(v, uint64(len(str))):])
	if !ok { // the string is at the end of the section, long, or invalid
		s, err := p.r.StringAt(die, ClassStrp, v)
		if err != nil {
			return fp, err
		}
		fp = printBytes(s)
	}
	return fp, nil
}

const (
	blockShift   = 13
	recentBlocks = 64 // together, they are smaller than a processor's level 2 cache
)

// readBlock reads a block of .debug_str, of 1<<blockShift bytes, into the processor's cache. A unit
// refers to most strings of a block, in random order. Reading them all in their order first takes
// far less time than to wait for the memory at each string.
func (p *Prints) readBlock(block uint32) {
	p.recent[block%recentBlocks] = block + 1
	str := p.r.D.str[min(uint64(block)<<blockShift, uint64(len(p.r.D.str))):]
	_ = bytes.IndexByte(str[:min(1<<blockShift, len(str))], 0xff) // not in UTF-8
}

// maxPrintString limits how many bytes printString looks at.
const maxPrintString = 256

// printString returns printBytes of the NUL-terminated string at the start of b. ok is false if the
// string is long, or ends within the last few bytes of b.
func printString(b []byte) (fp Fingerprint, ok bool) {
	fp = Fingerprint{printSeedA, printSeedB}
	for b = b[:min(len(b), maxPrintString)]; len(b) >= 8; b = b[8:] {
		w := binary.LittleEndian.Uint64(b)
		if s, n := short(w); n != 0 {
			v := s | uint64(n-1)<<56
			return fp.with(v, v), true
		}
		fp = fp.with(w, w)
	}
	return fp, false
}
