package elfwrite

import (
	"cmp"
	stdelf "debug/elf"
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// fixedPart returns the end of the bytes that keep their places: the ELF and program headers, the
// segments, a linked file's loaded sections, and any section that begins before the end of these.
func (e *Edit) fixedPart() (uint64, error) {
	end, err := e.segmentsEnd()
	if err != nil {
		return 0, err
	}
	for i := range e.sections {
		if s := &e.sections[i]; e.loaded(s) && len(s.data) > 0 {
			end = max(end, s.end())
		}
	}
	for _, i := range e.inFileOrder() {
		if s := &e.sections[i]; len(s.data) > 0 && s.at < end {
			end = max(end, s.end())
		}
	}
	return end, nil
}

// segmentsEnd returns the offset after the last byte of headers and segments.
func (e *Edit) segmentsEnd() (uint64, error) {
	in := e.f.Bytes()
	end := uint64(e.ehdrSize())
	e.headers = []span{{0, end}}
	phoff, tail := e.addr(in[e.pick(28, 32):]), in[e.flagsOffset():]
	size, num := uint64(e.bo.Uint16(tail[6:])), uint64(e.bo.Uint16(tail[8:]))
	if num == uint64(xindex) { // PN_XNUM
		num = uint64(e.sections[0].header.info)
	}
	if phoff == 0 || num == 0 {
		return end, nil
	}
	if size < uint64(e.pick(32, 56)) {
		return 0, fmt.Errorf("the program headers have %d bytes each, which is too few"+
			message.Rebuild, size)
	}
	extend := func(off, size uint64) error {
		if off > uint64(len(in)) || size > uint64(len(in))-off {
			return fmt.Errorf("program headers refer to bytes past the end of the file (%d bytes)"+
				message.Rebuild, len(in))
		}
		end = max(end, off+size)
		return nil
	}
	if err := extend(phoff, num*size); err != nil {
		return 0, err
	}
	e.headers = append(e.headers, span{phoff, phoff + num*size})
	for i := range num {
		ph := in[phoff+i*size:]
		off, filesz := e.addr(ph[e.pick(4, 8):]), e.addr(ph[e.pick(16, 32):])
		if filesz == 0 {
			continue
		}
		if err := extend(off, filesz); err != nil {
			return 0, err
		}
	}
	return end, nil
}

// loaded reports whether the section is loaded from its place in the file when the program runs.
func (e *Edit) loaded(s *section) bool { return s.is(stdelf.SHF_ALLOC) && !e.f.Relocatable() }

// isFixed reports whether the section has bytes that keep their places.
func (e *Edit) isFixed(s *section) bool { return len(s.data) > 0 && s.at < e.fixed }

// inFileOrder returns the indices of the sections, except 0, in file order. New sections come last.
func (e *Edit) inFileOrder() []int {
	order := make([]int, len(e.sections)-1)
	for i := range order {
		order[i] = i + 1
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := &e.sections[i], &e.sections[j]
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.end(), b.end()), cmp.Compare(i, j))
	})
	return order
}

type layout struct {
	patched []int  // sections with new content in their old places, in order
	kept    uint64 // end of the old file's bytes that stay, except patched sections
	moved   []int  // sections that follow, in order
	shoff   uint64 // offset of the section headers, which come last
	size    uint64

	keptEnd, patchedEnd uint64 // ends of the kept and the patched sections seen so far
}

type span struct{ start, end uint64 }

// keep leaves section i at its place. If its content is new, no other section may share its bytes.
func (l *layout) keep(e *Edit, i int) error {
	s := &e.sections[i]
	if len(s.data) == 0 {
		return nil
	}
	shared := s.at < l.patchedEnd || s.changed && (s.at < l.keptEnd ||
		slices.ContainsFunc(e.headers, func(h span) bool { return s.at < h.end && h.start < s.end() }))
	if shared {
		return fmt.Errorf("section %d (%s) shares bytes with another section or the headers, so its "+
			"content cannot be replaced", i, s.name)
	}
	l.kept, l.keptEnd = max(l.kept, s.end()), max(l.keptEnd, s.end())
	if s.changed {
		l.patched = append(l.patched, i)
		l.patchedEnd = s.end()
	}
	return nil
}

// fileAlign returns the alignment in the file, in bytes, of a section that is not loaded. It is at
// most the largest page size of the kernel's architectures; more would be useless.
func (h *sectionHeader) fileAlign() uint64 {
	if h.addralign&(h.addralign-1) != 0 {
		return 1 // not an alignment at all
	}
	return min(max(h.addralign, 1), 64<<10)
}

// layOut gives each section its place by the rule in Edit's comment: sections before the first
// change (e.first) and loaded sections stay; the others follow in file order.
func (e *Edit) layOut() (l layout, err error) {
	names := &e.sections[e.strndx]
	if old := e.f.Sections[e.strndx].Raw(); e.isFixed(names) && len(names.data) != len(old) {
		return l, fmt.Errorf("section %d, which has the section names, is loaded, so sections cannot "+
			"be added", e.strndx)
	}
	l.kept = e.fixed
	limit := 2*uint64(len(e.f.Bytes())) + 1<<20 // more than an intact file has after alignment
	at := uint64(0)
	reach := uint64(0) // so that no section, even an empty one, begins after the end of the file
	for _, i := range e.inFileOrder() {
		s := &e.sections[i]
		if stdelf.SectionType(s.header.typ) == stdelf.SHT_NULL {
			continue
		}
		if s.changed {
			s.header.size = uint64(len(s.data))
			limit += s.header.size
		}
		if s.at < e.first || e.loaded(s) {
			if err := l.keep(e, i); err != nil {
				return l, err
			}
			if stdelf.SectionType(s.header.typ) != stdelf.SHT_NOBITS {
				reach = max(reach, s.at)
			}
			continue
		}
		at = max(at, l.kept)
		if len(s.data) > 0 {
			at += padding(at, s.header.fileAlign())
		}
		s.header.offset = at
		at += uint64(len(s.data))
		l.moved = append(l.moved, i)
	}
	at = max(at, l.kept, reach)
	l.shoff = at + padding(at, uint64(e.addrSize()))
	l.size = l.shoff + uint64(len(e.sections)*e.shdrSize())
	if l.size > limit {
		return l, fmt.Errorf("the file has %d bytes, but its sections, one after the other and "+
			"aligned, take %d bytes"+message.Rebuild, len(e.f.Bytes()), l.size)
	}
	return l, e.checkSize(l.size)
}
