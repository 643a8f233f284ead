package elfwrite

import (
	"bytes"
	"fmt"
	"io"
)

// Write writes the new file. Its bytes depend on the file and on the last content of each section.
// Errors name the file.
func (e *Edit) Write(w io.Writer) error {
	l, err := e.layOut()
	if err != nil {
		return fmt.Errorf("%s: %w", e.f.Path, err)
	}
	in := e.f.Bytes()
	ehdr := bytes.Clone(in[:e.ehdrSize()])
	e.setSectionTable(ehdr, &e.sections[0].header, l.shoff, len(e.sections), e.strndx)
	out := output{w: w, drop: e.f.DropPages}
	out.write(ehdr)
	for _, i := range l.patched {
		s := &e.sections[i]
		out.write(in[out.at:s.at])
		out.write(s.data)
	}
	if out.at < l.kept {
		out.write(in[out.at:l.kept])
	}
	for _, i := range l.moved {
		s := &e.sections[i]
		out.fill(s.header.offset)
		out.write(s.data)
	}
	out.fill(l.shoff)
	table := make([]byte, 0, len(e.sections)*e.shdrSize())
	for i := range e.sections {
		table = e.appendSectionHeader(table, e.sections[i].header)
	}
	out.write(table)
	return out.err
}

// output is a writer that counts the bytes written. After an error, it writes nothing more.
type output struct {
	w       io.Writer
	at      uint64
	err     error
	drop    func() // frees the memory of the input; parts that are read later are loaded again
	dropped uint64 // the offset at which drop was last called
}

// maxResident limits how many bytes of a large input are in memory at the same time.
const maxResident = 16 << 20

func (o *output) write(b []byte) {
	for len(b) > 0 && o.err == nil {
		// A part that ends at a multiple of maxResident lets the next part begin at a block, which
		// a file system can share.
		n := min(len(b), int(maxResident-o.at%maxResident))
		_, o.err = o.w.Write(b[:n])
		o.at += uint64(n)
		b = b[n:]
		if o.at-o.dropped >= maxResident {
			o.drop()
			o.dropped = o.at
		}
	}
}

func (o *output) fill(to uint64) {
	if o.at < to {
		o.write(make([]byte, to-o.at))
	}
}
