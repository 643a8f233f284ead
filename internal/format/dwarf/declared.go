package dwarf

// declared caches declarations by a hash of their bytes, so that a declaration that other units
// have too is found without reading it. A new one replaces one with the same hash. It is nil for
// the first table.
type declared []declaration

// declaration is one that was compiled before.
type declaration struct {
	text   string // its bytes in .debug_abbrev, after the code
	abbrev *Abbrev
}

// declaredSlots is a power of two. A kernel of 2,500 units has 12,000 declarations, which differ
// in constants above all, and most units have the same few thousand.
const declaredSlots = 1 << 13

// endOfDeclaration returns the offset after the declaration at pos of b, after its code, and a hash
// of its bytes. The offset is 0 if it is cut off.
func endOfDeclaration(b []byte, pos int) (end int, hash uint64) {
	const prime = 0x9e3779b97f4a7c15
	c := cursor{buf: b, pos: pos}
	hash = c.uleb()<<8 | uint64(c.u8())
	for !c.bad {
		for c.pos+2 <= len(b) && b[c.pos]|b[c.pos+1] < 0x80 && b[c.pos+1] != formImplicit {
			pair := uint64(b[c.pos])<<8 | uint64(b[c.pos+1])
			c.pos += 2 // as nearly all are
			if pair == 0 {
				return c.pos, hash
			}
			hash = (hash ^ pair) * prime
		}
		attr, form := c.uleb(), c.uleb()
		hash = (hash ^ attr<<8 ^ form) * prime
		if form == formImplicit {
			hash = (hash ^ uint64(c.sleb())) * prime
		}
		if attr|form == 0 && !c.bad { // in more bytes than needed
			return c.pos, hash
		}
	}
	return 0, 0
}
