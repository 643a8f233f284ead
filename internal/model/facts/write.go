package facts

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/rules-btf/rules_btf/internal/model/types"
)

const formatVersion = 4

// The keywords that begin the lines of the text form.
const (
	lineHeader    = "btffacts"
	lineMachine   = "machine"
	lineSymfiles  = "symfiles"
	lineVariables = "variables"
	lineKfuncs    = "kfuncs"
	lineKfunc     = "kfunc"
	lineAddresses = "addresses"
	lineGlobal    = "global"
	lineFile      = "file"
	lineFunc      = "func"
	lineVar       = "var"
	lineEnd       = "end"
)

// Write sorts the facts and writes their text form.
func (f *Facts) Write(w io.Writer) error {
	f.sort()
	out := lineWriter{w: bufio.NewWriterSize(w, 1<<16)}
	out.line(lineHeader).number(formatVersion).end()
	order := "little"
	if f.BigEndian {
		order = "big"
	}
	out.line(lineMachine).number(uint64(f.Machine)).number(uint64(f.AddrSize) * 8).word(order).end()
	files := "no"
	if f.HasFiles {
		files = "yes"
	}
	out.line(lineSymfiles).word(files).end()
	out.line(lineVariables).word(string(f.Variables)).end()
	out.line(lineKfuncs).word(string(f.KfuncState)).end()
	for _, k := range f.Kfuncs {
		out.line(lineKfunc).name(k.Name).hex(uint64(k.Flags)).end()
	}
	for _, b := range f.SeveralAddresses {
		out.line(lineAddresses).name(b.Name).number(uint64(b.Addresses)).end()
	}
	byFile := make([][]Variable, len(f.Files))
	var global []Variable
	for _, o := range f.Vars {
		if o.File < 0 {
			global = append(global, o)
		} else {
			byFile[o.File] = append(byFile[o.File], o)
		}
	}
	out.line(lineGlobal).end()
	out.symbols(f.Globals, global)
	for i := range f.Files {
		out.line(lineFile).name(f.Files[i].Name).end()
		out.symbols(f.Files[i].Funcs, byFile[i])
	}
	out.line(lineEnd).end()
	return out.w.Flush()
}

// lineWriter builds lines of words. The buffered writer keeps the first error.
type lineWriter struct {
	w   *bufio.Writer
	buf []byte
}

func (l *lineWriter) symbols(funcs []string, objects []Variable) {
	for _, name := range funcs {
		l.line(lineFunc).name(name).end()
	}
	for _, o := range objects {
		l.line(lineVar).name(o.Name).name(o.Section).number(o.Offset).number(o.Size)
		if o.Definition != (types.Hash{}) {
			l.hash(o.Definition)
		}
		l.end()
	}
}

func (l *lineWriter) line(keyword string) *lineWriter {
	l.buf = append(l.buf[:0], keyword...)
	return l
}

func (l *lineWriter) word(s string) *lineWriter {
	l.buf = append(append(l.buf, ' '), s...)
	return l
}

func (l *lineWriter) name(s string) *lineWriter {
	l.buf = appendToken(append(l.buf, ' '), s)
	return l
}

func (l *lineWriter) number(v uint64) *lineWriter {
	l.buf = strconv.AppendUint(append(l.buf, ' '), v, 10)
	return l
}

func (l *lineWriter) hex(v uint64) *lineWriter {
	l.buf = strconv.AppendUint(append(l.buf, " 0x"...), v, 16)
	return l
}

func (l *lineWriter) hash(h types.Hash) { l.buf = fmt.Appendf(l.buf, " %016x%016x", h.A, h.B) }

func (l *lineWriter) end() { l.w.Write(append(l.buf, '\n')) }
