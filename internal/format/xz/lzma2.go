package xz

import "encoding/binary"

// decodeChunks decodes the chunks in data[at:], whose content must fill the slice out. The slice
// data must have maxSymbolSize more bytes of capacity.
func decodeChunks(data []byte, at int, out []byte, window uint32) bool {
	in := data[:len(data)+maxSymbolSize]
	var d lzma
	to := 0                           // how much of out is filled
	start := 0                        // the position at which the dictionary was reset last
	needDict, needProps := true, true // must a chunk reset the dictionary, set the properties?
	for at < len(data) {
		control := data[at]
		if at++; control == 0 {
			return at == len(data) && to == len(out)
		}
		if control == 1 || control >= 0xe0 {
			start, needDict, needProps = to, false, true
		}
		if needDict || len(data)-at < 2 {
			return false
		}
		if control < 0x80 {
			size := int(binary.BigEndian.Uint16(data[at:])) + 1
			at += 2
			if control > 2 || size > len(data)-at || size > len(out)-to {
				return false
			}
			copy(out[to:], data[at:at+size])
			at, to = at+size, to+size
			continue
		}
		if len(data)-at < 5 {
			return false
		}
		size := int(control&0x1f)<<16 + int(binary.BigEndian.Uint16(data[at:])) + 1
		packed := int(binary.BigEndian.Uint16(data[at+2:])) + 1
		at += 4
		switch {
		case control >= 0xc0:
			if !d.setProps(data[at]) {
				return false
			}
			at++
			needProps = false
		case needProps:
			return false
		case control >= 0xa0:
			d.reset()
		}
		// The range coder begins with five bytes, of which the first is ignored.
		if packed < 5 || packed > len(data)-at || size > len(out)-to {
			return false
		}
		c := coder{1<<32 - 1, binary.BigEndian.Uint32(data[at+1:]), at + 5}
		end := at + packed
		if !d.decode(in, c, end, out[:to+size], to, start, window) {
			return false
		}
		at, to = end, to+size
	}
	return false
}
