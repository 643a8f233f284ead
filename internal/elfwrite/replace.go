package elfwrite

import (
	"bytes"
	stdelf "debug/elf"
	"fmt"
	"io"

	"github.com/rules-btf/rules_btf/internal/elf"
)

// moduleSignature is the end of a signed kernel module (MODULE_SIG_STRING).
const moduleSignature = "~Module signature appended~\n"

// ReplaceSections writes f to w with the given sections. A section of f with one of their names
// gets the new data and keeps its index, type and flags; sections of other names are added after
// the last one. All other bytes that sections and segments refer to keep their offsets. After them
// come the new data, a new section name table and the section headers. Replacing the same sections
// again gives the same bytes.
//
// It is an error to replace a section that belongs to a loaded segment or has relocations, and to
// change a signed kernel module, whose signature would no longer hold.
func ReplaceSections(w io.Writer, f *elf.File, sections []Section) error {
	r, err := newReplacement(f)
	if err == nil {
		err = r.replace(sections)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	for _, part := range [][]byte{r.ehdr, f.Bytes()[len(r.ehdr):r.kept], r.tail} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// replacement is the new file: ehdr, then the bytes of f up to kept, then tail.
type replacement struct {
	class
	f       *elf.File
	ehdr    []byte
	headers []sectionHeader
	strndx  int
	names   []byte // the new section name table, whose section has the index strndx
	kept    uint64
	tail    []byte
}

func newReplacement(f *elf.File) (*replacement, error) {
	c, err := newClass(f.AddrSize, f.Order)
	if err != nil {
		return nil, err
	}
	in := f.Bytes()
	r := &replacement{class: c, f: f, ehdr: bytes.Clone(in[:c.ehdrSize()])}
	if len(f.Sections) == 0 {
		return nil, fmt.Errorf("no section headers; sections cannot be added to such a file")
	}
	if bytes.HasSuffix(in, []byte(moduleSignature)) {
		return nil, fmt.Errorf("signed kernel module, whose signature would no longer hold; " +
			"embed BTF before signing")
	}
	tail, shoff := 36, c.addr(in[32:])
	if c.wide {
		tail, shoff = 48, c.addr(in[40:])
	}
	entsize := int(c.bo.Uint16(in[tail+10:]))
	r.strndx = int(c.bo.Uint16(in[tail+14:]))
	for i := range f.Sections { // elf.Parse has checked the bounds
		r.headers = append(r.headers, c.sectionHeader(in[shoff+uint64(i*entsize):]))
	}
	if r.strndx == int(xindex) {
		r.strndx = int(r.headers[0].link)
	}
	if r.strndx == 0 {
		return nil, fmt.Errorf("no section names; sections cannot be added to such a file")
	}
	if typ := f.Sections[r.strndx].Type; typ != stdelf.SHT_STRTAB {
		return nil, fmt.Errorf("section %d holds the section names, but is of type %s", r.strndx, typ)
	}
	r.names = bytes.Clone(f.Sections[r.strndx].Raw())
	if len(r.names) == 0 {
		r.names = []byte{0} // sections without a name stay so
	}
	return r, nil
}

// replace computes headers, kept and tail.
func (r *replacement) replace(sections []Section) error {
	moved := make([]bool, len(r.headers), len(r.headers)+len(sections))
	index := make([]int, len(sections))
	seen := map[string]bool{}
	for i, s := range sections {
		if err := s.check(); err != nil {
			return err
		}
		if seen[s.Name] {
			return fmt.Errorf("section %q is given twice", s.Name)
		}
		seen[s.Name] = true
		var err error
		if index[i], err = r.find(s.Name); err != nil {
			return err
		}
		if index[i] == len(moved) {
			moved = append(moved, true)
		}
		moved[index[i]] = true
	}
	if old := r.headers[r.strndx]; stdelf.SectionFlag(old.flags)&stdelf.SHF_ALLOC != 0 {
		return fmt.Errorf("the section name table is part of a segment; such files are not supported")
	}
	moved[r.strndx] = true
	if err := r.findKept(moved); err != nil {
		return err
	}
	for i, s := range sections {
		r.place(index[i], s.Data, max(s.Align, 1))
	}
	r.place(r.strndx, r.names, 1)
	at := r.kept + uint64(len(r.tail))
	shoff := at + padding(at, 8)
	r.tail = append(r.tail, make([]byte, shoff-at)...)
	r.setSectionTable(r.ehdr, &r.headers[0], shoff, len(r.headers), r.strndx)
	for _, h := range r.headers {
		r.tail = r.appendSectionHeader(r.tail, h)
	}
	return r.checkSize(r.kept + uint64(len(r.tail)))
}

// find returns the index of the section of a name, and adds a header if f has no such section. It
// returns an error if the section cannot be replaced.
func (r *replacement) find(name string) (int, error) {
	var old *elf.Section
	for _, s := range r.f.Sections[1:] {
		if s.Name != name {
			continue
		}
		if old != nil {
			return 0, fmt.Errorf("sections %d and %d are both named %s; which one to replace is unclear",
				old.Index, s.Index, name)
		}
		old = s
	}
	if old == nil {
		r.headers = append(r.headers, sectionHeader{name: uint32(len(r.names)),
			typ: uint32(stdelf.SHT_PROGBITS)})
		r.names = append(append(r.names, name...), 0)
		return len(r.headers) - 1, nil
	}
	if old.Alloc() && !r.f.Relocatable() {
		return 0, fmt.Errorf("section %d (%s) is loaded with a segment and cannot change its size; "+
			"link the data in instead", old.Index, name)
	}
	if old.Type == stdelf.SHT_NOBITS || old.Index == r.strndx {
		return 0, fmt.Errorf("section %d (%s) cannot be replaced: it is of type %s", old.Index, name,
			old.Type)
	}
	for _, s := range r.f.Sections {
		if (s.Type == stdelf.SHT_REL || s.Type == stdelf.SHT_RELA) && int(s.Info) == old.Index {
			return 0, fmt.Errorf("section %d (%s) has relocations (section %d), which would not fit "+
				"other data; pass the linked file", old.Index, name, s.Index)
		}
	}
	r.headers[old.Index].flags &^= uint64(stdelf.SHF_COMPRESSED)
	return old.Index, nil
}

// findKept sets kept to the end of the last byte that must keep its offset: of the sections that
// are not moved, the segments and the program headers.
func (r *replacement) findKept(moved []bool) error {
	in := r.f.Bytes()
	r.kept = uint64(len(r.ehdr))
	keep := func(off, size uint64) error {
		if off > uint64(len(in)) || size > uint64(len(in))-off {
			return fmt.Errorf("program headers refer to bytes past the end of the file (%d bytes); "+
				"was it truncated?", len(in))
		}
		r.kept = max(r.kept, off+size)
		return nil
	}
	for _, s := range r.f.Sections {
		if !moved[s.Index] && s.Raw() != nil {
			r.kept = max(r.kept, s.Offset+s.Size)
		}
	}
	phoff, tail := r.addr(in[28:]), 36
	if r.wide {
		phoff, tail = r.addr(in[32:]), 48
	}
	phentsize, phnum := uint64(r.bo.Uint16(in[tail+6:])), uint64(r.bo.Uint16(in[tail+8:]))
	if phnum == 0xffff { // PN_XNUM
		phnum = uint64(r.headers[0].info)
	}
	if phoff == 0 || phnum == 0 {
		return nil
	}
	if phentsize < uint64(r.pick(32, 56)) {
		return fmt.Errorf("program headers of %d bytes are too small", phentsize)
	}
	if err := keep(phoff, phnum*phentsize); err != nil {
		return err
	}
	for i := range phnum {
		ph := in[phoff+i*phentsize:]
		var off, filesz uint64
		if r.wide {
			off, filesz = r.bo.Uint64(ph[8:]), r.bo.Uint64(ph[32:])
		} else {
			off, filesz = uint64(r.bo.Uint32(ph[4:])), uint64(r.bo.Uint32(ph[16:]))
		}
		if filesz == 0 {
			continue
		}
		if err := keep(off, filesz); err != nil {
			return err
		}
	}
	return nil
}

// place appends data to the tail, and sets section header i to it.
func (r *replacement) place(i int, data []byte, align uint64) {
	at := r.kept + uint64(len(r.tail))
	gap := padding(at, align)
	r.tail = append(append(r.tail, make([]byte, gap)...), data...)
	h := &r.headers[i]
	h.offset, h.size, h.addralign = at+gap, uint64(len(data)), align
}
