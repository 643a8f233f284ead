package facts

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Parse reads the text form. It accepts only what Write writes: lines that are out of order,
// other forms, such as numbers with leading zeros, are errors. Every error names the line.
func Parse(r io.Reader) (*Facts, error) {
	limited := &io.LimitedReader{R: r, N: maxText + 1}
	p := parser{lineReader: newLineReader(limited), facts: &Facts{}, last: -1}
	p.parse()
	if err, ok := errors.AsType[*fs.PathError](p.lines.Err()); ok { // a directory, a bad disk …
		return nil, fmt.Errorf("cannot be read: %w", err.Err)
	}
	if limited.N == maxText+1 {
		return nil, message.Empty("a file from btfgen facts")
	}
	if limited.N <= 0 {
		return nil, fmt.Errorf("facts: more than %d bytes", maxText)
	}
	if p.err != nil {
		return nil, fmt.Errorf("facts line %d: %w; make the facts again with the same "+
			"release of btfgen", p.number, p.err)
	}
	slices.SortFunc(p.facts.Vars, compareVariables)
	return p.facts, nil
}

type parser struct {
	lineReader
	facts *Facts
	last  int // index in facts.Files of the current file; -1 for the globals

	objects, before []Variable // variables of this file and the previous one; their File is 0
}

func (p *parser) parse() {
	p.head()
	for p.next() {
		switch p.keyword() {
		case lineKfunc:
			p.kfunc()
		case lineAddresses:
			p.addresses()
		case lineGlobal:
			p.arity(0)
			p.symbols()
			return
		default:
			p.fail("found %q, expected %q, %q or %q", clip(p.keyword()), lineKfunc, lineAddresses,
				lineGlobal)
		}
	}
}

// head reads the lines that every text has.
func (p *parser) head() {
	f := p.facts
	if p.expect(lineHeader, 1); p.err != nil {
		p.err = fmt.Errorf("not a facts file from btfgen facts: its first line is not %q",
			fmt.Sprint(lineHeader, " ", formatVersion))
	}
	if version := p.uint(1, 32); version != formatVersion {
		p.fail("format %d is not supported, only format %d", version, formatVersion)
	}
	p.expect(lineMachine, 3)
	f.Machine = elf.Machine(p.uint(1, 16))
	f.AddrSize = 8
	if p.choice(2, "64", "32") == "32" {
		f.AddrSize = 4
	}
	f.BigEndian = p.choice(3, "little", "big") == "big"
	p.expect(lineSymfiles, 1)
	f.HasFiles = p.choice(1, "no", "yes") == "yes"
	p.expect(lineVariables, 1)
	f.Variables = Variables(p.choice(1, string(VariablesNone), string(VariablesPerCPU),
		string(VariablesAll)))
	p.expect(lineKfuncs, 1)
	f.KfuncState = KfuncState(p.choice(1, string(KfuncsOff), string(KfuncsAbsent),
		string(KfuncsStripped), string(KfuncsListed)))
}

func (p *parser) kfunc() {
	p.arity(2)
	k := Kfunc{p.name(1), p.flags(2)}
	f := p.facts
	if f.KfuncState != KfuncsListed {
		p.fail("a kfunc is listed, but an earlier line says \"kfuncs %s\"", f.KfuncState)
	}
	if n := len(f.Kfuncs); len(f.SeveralAddresses) > 0 || n > 0 && f.Kfuncs[n-1].Name >= k.Name {
		p.outOfOrder()
	}
	f.Kfuncs = append(f.Kfuncs, k)
}

func (p *parser) addresses() {
	p.arity(2)
	b := RepeatedName{p.name(1), int(p.uint(2, 31))}
	if b.Addresses < 2 {
		p.fail("the number of addresses is %d, but only names with several addresses are "+
			"listed", b.Addresses)
	}
	f := p.facts
	if n := len(f.SeveralAddresses); n > 0 && f.SeveralAddresses[n-1].Name >= b.Name {
		p.outOfOrder()
	}
	f.SeveralAddresses = append(f.SeveralAddresses, b)
}

// symbols reads what follows the line "global".
func (p *parser) symbols() {
	for p.next() {
		switch p.keyword() {
		case lineFunc:
			p.function()
		case lineVar:
			p.variable()
		case lineFile:
			p.closeFile()
			p.arity(1)
			p.facts.Files = append(p.facts.Files, File{Name: p.name(1)})
			p.last++
		case lineEnd:
			p.closeFile()
			p.arity(0)
			p.finish()
			return
		default:
			p.fail("found %q, expected %q, %q, %q or %q", clip(p.keyword()), lineFunc, lineVar,
				lineFile, lineEnd)
		}
	}
}

// closeFile ends the symbols of a file, and checks that the file may follow the previous one.
func (p *parser) closeFile() {
	if p.last >= 0 {
		f := &p.facts.Files[p.last]
		if f.Name == "" && len(f.Funcs) == 0 && len(p.objects) == 0 {
			p.fail("the last %q line has no name, and no functions or variables follow "+
				"it", lineFile)
		}
		if p.last > 0 && cmp.Or(compareFiles(&p.facts.Files[p.last-1], f),
			slices.CompareFunc(p.before, p.objects, compareVariables)) > 0 {
			p.fail("the last two %q lines, or the symbols after them, are in the wrong "+
				"order", lineFile)
		}
	}
	p.before, p.objects = p.objects, p.before[:0]
}

func (p *parser) function() {
	p.arity(1)
	name := p.name(1)
	list := &p.facts.Globals
	if p.last >= 0 {
		list = &p.facts.Files[p.last].Funcs
	}
	if n := len(*list); len(p.objects) > 0 || n > 0 && (*list)[n-1] > name {
		p.outOfOrder()
	}
	*list = append(*list, name)
}

func (p *parser) variable() {
	o := Variable{Local: p.last >= 0}
	if o.Local && len(p.words) == 6 {
		o.Definition = p.hash(5)
	} else {
		p.arity(4)
	}
	o.Name, o.Section = p.name(1), p.name(2)
	o.Offset, o.Size = p.uint(3, 64), p.uint(4, 64)
	if p.facts.Variables == VariablesNone {
		p.fail("a variable is listed, but an earlier line says \"variables %s\"", VariablesNone)
	}
	if n := len(p.objects); n > 0 && compareVariables(p.objects[n-1], o) > 0 {
		p.outOfOrder()
	}
	p.objects = append(p.objects, o)
	o.File = p.last
	p.facts.Vars = append(p.facts.Vars, o)
}
