package elfwrite

import (
	"bytes"
	"fmt"
	"io"
)

// Write writes the new file. Its bytes depend on the file and on what was set last for each
// section. Errors name the file.
func (e *Edit) Write(w io.Writer) error {
	l, err := e.layOut()
	if err != nil {
		return fmt.Errorf("%s: %w", e.f.Path, err)
	}
	in := e.f.Bytes()
	ehdr := bytes.Clone(in[:e.ehdrSize()])
	e.setSectionTable(ehdr, &e.sections[0].header, l.shoff, len(e.sections), e.strndx)
	out := output{w: w}
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

// output is a writer that knows how many bytes were written. After an error it writes nothing more.
type output struct {
	w   io.Writer
	at  uint64
	err error
}

func (o *output) write(b []byte) {
	if o.err == nil && len(b) > 0 {
		_, o.err = o.w.Write(b)
	}
	o.at += uint64(len(b))
}

// fill writes zeros up to an offset.
func (o *output) fill(to uint64) {
	if o.at < to {
		o.write(make([]byte, to-o.at))
	}
}
