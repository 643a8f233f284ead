package btf

import "fmt"

// otherLayouts returns a bit for each known kind whose entry in a layout section differs from what
// these tools know. Records of such a kind can't be read: for example, the first drafts of the
// kinds for inlined functions had other elements under the same numbers.
func otherLayouts(section []byte) (kinds uint32) {
	for k := range min(len(section)/4, NumKinds) {
		if l := layout[k]; section[4*k] != l.info || section[4*k+1] != l.elem {
			kinds |= 1 << k
		}
	}
	return kinds
}

// badKind is the error for a record of a kind that can't be read.
func (p *opened) badKind(id uint32, off int, kind Kind) error {
	h := p.blob.Header
	var entry []byte
	if at := 4 * int(kind); at < int(h.LayoutLen) {
		entry = p.layout[at : at+4]
	}
	switch {
	case kind == KindVoid || entry == nil && kind >= NumKinds:
		return damaged(id, off, "unknown kind %d", kind)
	case kind >= NumKinds:
		return formatError(id, off, "kind %d is newer than these tools, which know the kinds up to "+
			"%d (%v); the layout section gives it %s; "+newer, kind, NumKinds-1, Kind(NumKinds-1),
			sizes(entry[0], entry[1]))
	}
	l := layout[kind]
	return formatError(id, off, "the layout section gives a %v %s, but these tools know it with %s; "+
		newer, kind, sizes(entry[0], entry[1]), sizes(l.info, l.elem))
}

const newer = "use a newer release of these tools"

func sizes(info, elem uint8) string {
	return fmt.Sprintf("%d bytes and %d for each element", info, elem)
}
