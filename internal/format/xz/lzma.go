package xz

import "encoding/binary"

// The constants of LZMA. Most are named as in lzma_decoder.c and lzma_common.h of XZ Utils.
const (
	probBits      = 11 // a probability is a number below 1<<probBits
	moveBits      = 5
	topValue      = 1 << 24
	states        = 12
	litStates     = 7 // states below it follow a literal
	minMatch      = 2
	lowSymbols    = 8   // how many lengths are in the first tree of lengths, and in the second
	highSymbols   = 256 // how many lengths are in the third tree
	distSlots     = 64
	modelEnd      = 14 // smaller distance slots have only modelled bits
	alignBits     = 4
	literalCoder  = 0x300 // probabilities for one context of a literal
	maxContexts   = 1 << 4
	maxSymbolSize = 21 // the most bytes of input that a literal or match can take
	wordSize      = 8
)

// lengthCoder has the probabilities of lengths.
type lengthCoder struct {
	choice, choice2 uint16
	low, mid        [16][lowSymbols]uint16
	high            [highSymbols]uint16
}

// lzma is the state of the decoder. Most accesses to probabilities need no bounds check: the size
// of the array is a power of two, or the compiler can find out the bounds of the index.
type lzma struct {
	lc               uint32
	litMask, posMask uint32

	rep    [4]uint32 // the last four distances, each less one
	state  uint32
	match  [256]uint16 // by state and position
	isRep  [16]uint16
	isRep0 [16]uint16
	isRep1 [16]uint16
	isRep2 [16]uint16
	long0  [256]uint16

	slots    [4][distSlots]uint16
	special  [128]uint16
	align    [1 << alignBits]uint16
	lengths  lengthCoder
	replens  lengthCoder
	literals [maxContexts][literalCoder]uint16
}

// setProps sets the properties (lc, lp and pb) and resets the state.
func (d *lzma) setProps(props byte) bool {
	if props > (4*5+4)*9+8 {
		return false
	}
	lc, lp, pb := uint32(props%9), uint32(props/9%5), uint32(props/45)
	if lc+lp > 4 {
		return false
	}
	d.lc, d.litMask, d.posMask = lc, 1<<lp-1, 1<<pb-1
	d.reset()
	return true
}

func fill(probs []uint16) {
	for i := range probs {
		probs[i] = 1 << (probBits - 1)
	}
}

func (l *lengthCoder) reset() {
	l.choice, l.choice2 = 1<<(probBits-1), 1<<(probBits-1)
	for i := range l.low {
		fill(l.low[i][:])
		fill(l.mid[i][:])
	}
	fill(l.high[:])
}

// reset resets the state, but not the properties.
func (d *lzma) reset() {
	d.rep, d.state = [4]uint32{}, 0
	for _, probs := range [][]uint16{d.match[:], d.isRep[:], d.isRep0[:], d.isRep1[:], d.isRep2[:],
		d.long0[:], d.special[:], d.align[:]} {
		fill(probs)
	}
	for i := range d.slots {
		fill(d.slots[i][:])
	}
	d.lengths.reset()
	d.replens.reset()
	for i := range d.literals[:(d.litMask+1)<<d.lc] {
		fill(d.literals[i][:])
	}
}

// coder is the range decoder. It is passed by value, so that it stays in registers.
type coder struct {
	width, code uint32
	at          int // index of the next byte of input
}

// normal returns the coder with a width of at least topValue.
func (c coder) normal(in []byte) coder {
	if c.width < topValue {
		return coder{c.width << 8, c.code<<8 | uint32(in[c.at]), c.at + 1}
	}
	return c
}

// bit decodes a bit, without a branch that depends on that bit. The result named not is 0 if the
// bit is 1, and has all bits set if the bit is 0.
func (c coder) bit(prob *uint16) (next coder, not uint32) {
	p := uint32(*prob)
	bound := c.width >> probBits * p
	not = uint32(int64(uint64(c.code)-uint64(bound)) >> 63)
	*prob = uint16(p - uint32(int32(p+not&(1<<32-1<<probBits+1<<moveBits-1))>>moveBits))
	rest := c.width - bound
	return coder{rest + not&(bound-rest), c.code - bound&^not, c.at}, not
}

// choose decodes a bit that is easy to predict. Unlike the method bit, it branches on that bit.
func (c coder) choose(prob *uint16) (next coder, one bool) {
	p := uint32(*prob)
	bound := c.width >> probBits * p
	if c.code < bound {
		*prob = uint16(p + (1<<probBits-p)>>moveBits)
		return coder{bound, c.code, c.at}, false
	}
	*prob = uint16(p - p>>moveBits)
	return coder{c.width - bound, c.code - bound, c.at}, true
}

// length decodes the length of a match.
func (l *lengthCoder) length(in []byte, c coder, pos uint32) (coder, uint32) {
	var one bool
	var not uint32
	c, one = c.normal(in).choose(&l.choice)
	if !one {
		symbol, probs := uint32(1), &l.low[pos&15]
		for symbol < lowSymbols {
			c, not = c.normal(in).bit(&probs[symbol])
			symbol = symbol<<1 + 1 + not
		}
		return c, symbol - lowSymbols + minMatch
	}
	c, one = c.normal(in).choose(&l.choice2)
	if !one {
		symbol, probs := uint32(1), &l.mid[pos&15]
		for symbol < lowSymbols {
			c, not = c.normal(in).bit(&probs[symbol])
			symbol = symbol<<1 + 1 + not
		}
		return c, symbol - lowSymbols + minMatch + lowSymbols
	}
	symbol := uint32(1)
	for symbol < highSymbols {
		c, not = c.normal(in).bit(&l.high[symbol])
		symbol = symbol<<1 + 1 + not
	}
	return c, symbol - highSymbols + minMatch + 2*lowSymbols
}

// distance decodes the distance, less one, of a match that has this length.
func (d *lzma) distance(in []byte, c coder, length uint32) (coder, uint32) {
	var not uint32
	probs := &d.slots[min(length-minMatch, 3)]
	slot := uint32(1)
	for slot < distSlots {
		c, not = c.normal(in).bit(&probs[slot])
		slot = slot<<1 + 1 + not
	}
	if slot -= distSlots; slot < 4 {
		return c, slot
	}
	bits := slot>>1 - 1
	dist := 2 + slot&1
	if slot < modelEnd {
		dist <<= bits
		symbol := uint32(1)
		base := dist - slot
		for i := range bits {
			c, not = c.normal(in).bit(&d.special[(base+symbol)&127])
			symbol = symbol<<1 + 1 + not
			dist += (1 + not) << (i & 31)
		}
		return c, dist
	}
	for range bits - alignBits {
		c = c.normal(in)
		c.width >>= 1
		c.code -= c.width
		not = 0 - c.code>>31
		c.code += c.width & not
		dist = dist<<1 + 1 + not
	}
	dist <<= alignBits
	symbol := uint32(1)
	for i := range uint32(alignBits) {
		c, not = c.normal(in).bit(&d.align[symbol&15])
		symbol = symbol<<1 + 1 + not
		dist += (1 + not) << i
	}
	return c, dist
}

// decode decodes the chunk in[c.at:end] to out[at:], and reports whether the chunk is valid. A
// distance must not exceed window, nor lead to a place before out[start]. The slice in must have
// maxSymbolSize more bytes after end, and the slice out wordSize more bytes of capacity.
func (d *lzma) decode(in []byte, c coder, end int, out []byte, at, start int, window uint32) bool {
	var one bool
	var not uint32
	wide := out[:len(out)+wordSize]
	state := d.state
	rep0, rep1, rep2, rep3 := d.rep[0], d.rep[1], d.rep[2], d.rep[3]
	for at < len(out) {
		if c.at > end {
			return false
		}
		pos := uint32(at-start) & d.posMask
		c, one = c.normal(in).choose(&d.match[(state<<4+pos)&255])
		if !one {
			var previous uint32
			if at > start {
				previous = uint32(out[at-1])
			}
			context := previous>>(8-d.lc) + (uint32(at-start)&d.litMask)<<d.lc
			probs := &d.literals[context&(maxContexts-1)]
			symbol := uint32(1)
			if state < litStates {
				for symbol < 0x100 {
					c, not = c.normal(in).bit(&probs[symbol])
					symbol = symbol<<1 + 1 + not
				}
			} else {
				matched := uint32(out[at-int(rep0)-1])
				offset := uint32(0x100)
				for symbol < 0x100 {
					matched <<= 1
					bit := matched & offset
					c, not = c.normal(in).bit(&probs[offset+bit+symbol])
					symbol = symbol<<1 + 1 + not
					offset &= bit ^ not
				}
			}
			out[at] = byte(symbol)
			at++
			state = afterLiteral[state&15]
			continue
		}
		var n uint32
		c, one = c.normal(in).choose(&d.isRep[state&15])
		if !one {
			rep3, rep2, rep1 = rep2, rep1, rep0
			c, n = d.lengths.length(in, c, pos)
			c, rep0 = d.distance(in, c, n)
			state = after(state, 7)
		} else {
			c, one = c.normal(in).choose(&d.isRep0[state&15])
			if !one {
				c, one = c.normal(in).choose(&d.long0[(state<<4+pos)&255])
				if !one {
					n = 1
				}
			} else if c, one = c.normal(in).choose(&d.isRep1[state&15]); !one {
				rep0, rep1 = rep1, rep0
			} else if c, one = c.normal(in).choose(&d.isRep2[state&15]); !one {
				rep0, rep1, rep2 = rep2, rep0, rep1
			} else {
				rep0, rep1, rep2, rep3 = rep3, rep0, rep1, rep2
			}
			if n == 1 {
				state = after(state, 9)
			} else {
				c, n = d.replens.length(in, c, pos)
				state = after(state, 8)
			}
		}
		if uint64(rep0) >= uint64(at-start) || rep0 >= window || int(n) > len(out)-at {
			return false
		}
		from, to := at-int(rep0)-1, at+int(n)
		if rep0+1 < wordSize {
			for ; at < to; at++ {
				out[at] = out[from]
				from++
			}
			continue
		}
		for ; at < to; at += wordSize {
			word := binary.LittleEndian.Uint64(wide[from:])
			binary.LittleEndian.PutUint64(wide[at:], word)
			from += wordSize
		}
		at = to
	}
	c = c.normal(in)
	d.state = state
	d.rep = [4]uint32{rep0, rep1, rep2, rep3}
	return c.at == end && c.code == 0
}

// after returns the state after a match: the parameter kind if the match follows a literal, and
// otherwise 10 or 11.
func after(state, kind uint32) uint32 {
	if state < litStates {
		return kind
	}
	return min(kind+3, states-1)
}

// afterLiteral maps the state before a literal to the state after it.
var afterLiteral = [16]uint32{0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 4, 5}
