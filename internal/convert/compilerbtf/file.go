package compilerbtf

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// Has reports whether f has a .BTF section that isn't empty.
func Has(f *elf.File) bool {
	data, err := btf.Section(f, btf.SectionTypes)
	return err != nil || len(data) > 0
}

// Units returns how many blobs the .BTF section of f has, or 0 if the section is malformed.
func Units(f *elf.File) int {
	data, err := btf.Section(f, btf.SectionTypes)
	if err != nil {
		return 0
	}
	parts, err := split(data)
	if err != nil {
		return 0
	}
	f.Section(btf.SectionTypes).DropPages() // it may be large
	return len(parts)
}

// File converts the BTF of f, which a compiler wrote. The options mean the same as for DWARF, but
// LangExclude has no effect, since compilers write BTF only for C.
//
// BTF that is already linked is an error, and so is malformed BTF. Errors begin with the path. They
// name the section, the blob (if there are several), and the type or the offset.
func File(f *elf.File, opt convert.Options) (*convert.Result, error) {
	return file(f, &work{opt: &opt})
}

func file(f *elf.File, w *work) (*convert.Result, error) {
	if err := w.convert(f); err != nil {
		return nil, err
	}
	o, err := w.object()
	for _, c := range w.threads {
		w.shapers().Return(c.shaper)
	}
	skipped := len(w.skipped())
	return &convert.Result{Object: o, Counts: convert.Counts{Units: len(w.parts) - skipped,
		Bytes: w.bytes(), Unencodable: skipped}}, err
}

// EachUnit is like convert.EachUnit; a unit is a blob of the section.
func EachUnit(f *elf.File, opt convert.Options, units []int,
	do func(number int, o *object.Object) error) error {
	return (&work{opt: &opt, chosen: units, each: do}).convert(f)
}

// convert converts the BTF of f, and calls opt.Warn with all messages.
func (w *work) convert(f *elf.File) error {
	data, err := btf.Section(f, btf.SectionTypes)
	if err == nil {
		err = w.prepare(f, data)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	if err := w.run(); err != nil {
		return err
	}
	if err := w.checkLinkage(); err != nil {
		return err
	}
	if w.opt.Warn != nil {
		for _, line := range w.warnings() {
			w.opt.Warn(line)
		}
	}
	return nil
}

// part is one blob of the section.
type part struct {
	data   []byte
	off    int  // offset in the section
	number int  // index among the blobs of the file, or in work.chosen
	source int  // group of the blob's local symbols, or sourceUnknown
	empty  bool // the blob has no types, so no unit is made of it
}

// split separates the concatenated blobs of a section. There may be zero bytes between blobs. split
// checks only the headers of the blobs.
//
// For a unit without types, gcc writes a header in which the lengths of types and strings are 0,
// although strings follow. split then skips to the next header.
func split(data []byte) (parts []part, err error) {
	for off := 0; off < len(data); {
		own, err := btf.Prefix(data[off:])
		if err != nil {
			if fe, ok := err.(*btf.FormatError); ok {
				fe.Offset += int64(off)
			}
			return nil, fmt.Errorf("section %s: %w", btf.SectionTypes, err)
		}
		h, order, err := btf.ReadHeader(own)
		if err != nil {
			return nil, err // unreachable: btf.Prefix has checked the header
		}
		p := part{data: own, off: off, number: len(parts), empty: h.TypeLen+h.StrLen == 0}
		parts = append(parts, p)
		off += len(own)
		if p.empty {
			off += len(data) - off - len(fromHeader(data[off:], order))
		}
		for ; off < len(data) && data[off] == 0; off++ {
		}
	}
	return parts, nil
}

// fromHeader drops what precedes the first header with this byte order, or everything without one.
func fromHeader(data []byte, order binary.ByteOrder) []byte {
	var header [8]byte // the magic, the version, no flags, the length of the header
	order.PutUint16(header[:], btf.Magic)
	header[2] = btf.Version
	order.PutUint32(header[4:], btf.HeaderLen)
	if i := bytes.Index(data, header[:]); i >= 0 {
		return data[i:]
	}
	return nil
}

// work is the conversion of all or some blobs of a file by several threads.
type work struct {
	file    *elf.File
	opt     *convert.Options
	chosen  []int // see EachUnit
	each    func(number int, o *object.Object) error
	symbols *symbols
	several bool // the file has several blobs
	plainly bool // for tests: Shaper.LoadPlainly makes the shapes
	parts   []part
	next    atomic.Int64 // index in parts
	threads []*converter
}

// prepare finds the blobs in data, the section of f.
func (w *work) prepare(f *elf.File, data []byte) error {
	parts, err := split(data)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if isSplit(p.data) {
			return fmt.Errorf("section %s: %w", btf.SectionTypes, errLinked("it is split BTF"))
		}
	}
	w.file, w.several = f, len(parts) > 1
	if w.symbols, err = readSymbols(f, w.several); err != nil {
		return err
	}
	if err := w.matchSources(parts); err != nil {
		return err
	}
	w.parts = slices.DeleteFunc(w.choose(parts), func(p part) bool { return p.empty })
	return nil
}

// shapers returns the shapers of other conversions, or nil.
func (w *work) shapers() *object.Shapers {
	if s := w.opt.Shared; s != nil && s.Joined {
		return &s.Shapers
	}
	return nil
}

func (w *work) choose(parts []part) []part {
	if w.chosen == nil {
		return parts
	}
	var list []part
	for at, i := range w.chosen {
		p := parts[i]
		p.number = at
		list = append(list, p)
	}
	return list
}

func (w *work) run() error {
	jobs := max(1, min(cmp.Or(w.opt.Jobs, runtime.GOMAXPROCS(0)), len(w.parts)))
	for range jobs {
		w.threads = append(w.threads, newConverter(w))
	}
	parallel.Do(jobs, jobs, func(i int) { w.thread(w.threads[i]) })
	var first failure
	for _, c := range w.threads {
		if c.failed.err != nil && (first.err == nil || c.failed.at < first.at) {
			first = c.failed
		}
	}
	return first.err
}

// failure is the error of one blob. If several blobs fail, the error of the first is reported.
type failure struct {
	at  int // index in work.parts
	err error
}

// thread converts parts with c until none is left or one fails.
func (w *work) thread(c *converter) {
	for {
		i := int(w.next.Add(1)) - 1
		if i >= len(w.parts) {
			return
		}
		p := &w.parts[i]
		err := c.convert(p)
		if _, ok := err.(*unencodable); ok && w.opt.Features.Has(features.SkipUnencodable) {
			err = w.name(p, err)
			c.skipped = append(c.skipped, failure{i, err})
			c.warnings = append(c.warnings, warning{p.number, err.Error() + "; the unit is left out"})
			err = nil
		} else if err == nil && w.each != nil {
			one := *c.obj
			one.Units = one.Units[len(one.Units)-1:]
			err = w.each(p.number, &one)
		} else if err != nil {
			err = w.name(p, err)
		}
		if err != nil {
			c.failed = failure{i, err}
			w.next.Store(int64(len(w.parts)))
			return
		}
		if w.opt.Progress != nil {
			w.opt.Progress(i+1, len(w.parts))
		}
	}
}

// name prefixes an error with the file, the section and, if there are several blobs, the blob.
func (w *work) name(p *part, err error) error {
	if !w.several {
		return fmt.Errorf("%s: section %s: %w", w.file.Path, btf.SectionTypes, err)
	}
	return fmt.Errorf("%s: section %s: blob %d at offset %#x: %w", w.file.Path, btf.SectionTypes,
		p.number+1, p.off, err)
}

func (w *work) bytes() (sum uint64) {
	for _, p := range w.parts {
		sum += uint64(len(p.data))
	}
	return sum
}

func (w *work) skipped() (all []failure) {
	for _, c := range w.threads {
		all = append(all, c.skipped...)
	}
	return all
}

type warning struct {
	number int
	line   string
}

// warnings returns the messages of all threads, without duplicates, in the order of the blobs.
func (w *work) warnings() (lines []string) {
	var all []warning
	for _, c := range w.threads {
		all = append(all, c.warnings...)
	}
	slices.SortStableFunc(all, func(a, b warning) int { return a.number - b.number })
	seen := map[string]bool{}
	for _, l := range all {
		if !seen[l.line] {
			seen[l.line] = true
			lines = append(lines, l.line)
		}
	}
	return lines
}

func (w *work) object() (*object.Object, error) {
	var all []*object.Object
	for _, c := range w.threads {
		all = append(all, c.obj)
	}
	return object.Join(all)
}
