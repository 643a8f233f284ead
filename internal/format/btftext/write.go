package btftext

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// Write writes a reference with the types of b, which has no base.
func Write(w io.Writer, b *btf.Blob) error {
	p := newPrinter(b)
	h := header{Version: version, BigEndian: b.Order == binary.BigEndian, Count: len(p.all)}
	out := bytes.Replace(marshal(h.withSum()), []byte(","), []byte(",\n"), 1)
	out = append(out[:len(out)-1], `,"types":[`+"\n"...)
	for i, id := range p.all {
		if i > 0 {
			out = append(out, ",\n"...)
		}
		out = appendLines(out, marshal(p.define(id).withSum()))
		if p.err == nil && len(out) > maxText {
			p.err = errors.New("the reference would be longer than 128 MiB")
		}
		if p.err != nil {
			return p.err
		}
	}
	if p.err == nil {
		_, p.err = w.Write(append(out, "\n]}\n"...))
	}
	return p.err
}

// appendLines appends JSON in which each element of an array begins a line.
func appendLines(out, text []byte) []byte {
	level, quoted := 0, false
	newLine := func() {
		out = append(out, '\n')
		for range level {
			out = append(out, "  "...)
		}
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '\\':
			out = append(out, c)
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && c == ']':
			level--
			newLine()
		}
		out = append(out, text[i])
		switch {
		case quoted:
		case c == '[':
			level++
			newLine()
		case c == ',' && text[i+1] == '{':
			newLine()
		}
	}
	return out
}
