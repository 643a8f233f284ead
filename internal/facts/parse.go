package facts

import (
	"debug/elf"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Parse reads the text form. It takes only what Write writes: lines that are out of order, numbers
// with leading zeros and the like are errors. Every error names its line.
func Parse(r io.Reader) (*Facts, error) {
	limited := &io.LimitedReader{R: r, N: maxText + 1}
	p := parser{lineReader: newLineReader(limited), facts: &Facts{}, last: -1}
	err := p.parse()
	if limited.N <= 0 {
		return nil, fmt.Errorf("facts: more than %d bytes", maxText)
	}
	if err != nil {
		return nil, fmt.Errorf("facts line %d: %w", p.number, err)
	}
	slices.SortFunc(p.facts.Objects, compareObjects)
	return p.facts, nil
}

// parser builds facts from lines.
type parser struct {
	lineReader
	facts *Facts
	last  int // index in facts.Files of the current group; -1 for the globals

	objects, before []Object // of the current group, and of the File before it; their File is 0
}

func (p *parser) parse() error {
	if err := p.head(); err != nil {
		return err
	}
	for {
		if err := p.next(); err != nil {
			return err
		}
		var err error
		switch p.keyword() {
		case lineKfunc:
			err = p.kfunc()
		case lineAddresses:
			err = p.addresses()
		case lineGlobal:
			if err = p.arity(0); err == nil {
				return p.groups()
			}
		default:
			err = fmt.Errorf("%q where %q, %q or %q is due", clip(p.keyword()), lineKfunc, lineAddresses,
				lineGlobal)
		}
		if err != nil {
			return err
		}
	}
}

// head reads the lines that every text has.
func (p *parser) head() error {
	f := p.facts
	if err := p.expect(lineHeader, 1); err != nil {
		return fmt.Errorf("no facts file: %w", err)
	}
	if version, err := p.uint(1, 32); err != nil {
		return err
	} else if version != formatVersion {
		return fmt.Errorf("format %d is not supported, only %d; make the facts anew with the "+
			"same release of btfgen", version, formatVersion)
	}
	if err := p.expect(lineMachine, 3); err != nil {
		return err
	}
	machine, err := p.uint(1, 16)
	if err != nil {
		return err
	}
	f.Machine = elf.Machine(machine)
	bits, err := p.choice(2, "64", "32")
	if err != nil {
		return err
	}
	f.AddrSize = 8 >> bits
	order, err := p.choice(3, "little", "big")
	if err != nil {
		return err
	}
	f.BigEndian = order == 1
	if err := p.expect(lineSymfiles, 1); err != nil {
		return err
	}
	files, err := p.choice(1, "no", "yes")
	if err != nil {
		return err
	}
	f.HasFiles = files == 1
	if err := p.expect(lineVariables, 1); err != nil {
		return err
	}
	if _, err := p.choice(1, string(VariablesNone), string(VariablesPerCPU),
		string(VariablesAll)); err != nil {
		return err
	}
	f.Variables = Variables(p.words[1])
	if err := p.expect(lineKfuncs, 1); err != nil {
		return err
	}
	if _, err := p.choice(1, string(KfuncsOff), string(KfuncsAbsent), string(KfuncsStripped),
		string(KfuncsListed)); err != nil {
		return err
	}
	f.KfuncState = KfuncState(p.words[1])
	return nil
}

func (p *parser) kfunc() error {
	if err := p.arity(2); err != nil {
		return err
	}
	name, err := p.name(1)
	if err != nil {
		return err
	}
	flags, err := strconv.ParseUint(strings.TrimPrefix(p.words[2], "0x"), 16, 32)
	if err != nil || fmt.Sprintf("%#x", flags) != p.words[2] {
		return fmt.Errorf("%q is no number 0x... of 32 bits", clip(p.words[2]))
	}
	f := p.facts
	if f.KfuncState != KfuncsListed {
		return fmt.Errorf("a kfunc although kfuncs are %q", f.KfuncState)
	}
	if len(f.Repeated) > 0 {
		return p.outOfOrder()
	}
	if n := len(f.Kfuncs); n > 0 && f.Kfuncs[n-1].Name >= name {
		return p.outOfOrder()
	}
	f.Kfuncs = append(f.Kfuncs, Kfunc{name, uint32(flags)})
	return nil
}

func (p *parser) addresses() error {
	if err := p.arity(2); err != nil {
		return err
	}
	name, err := p.name(1)
	if err != nil {
		return err
	}
	n, err := p.uint(2, 31)
	if err != nil {
		return err
	}
	if n < 2 {
		return fmt.Errorf("%d addresses; only names with several are listed", n)
	}
	f := p.facts
	if n := len(f.Repeated); n > 0 && f.Repeated[n-1].Name >= name {
		return p.outOfOrder()
	}
	f.Repeated = append(f.Repeated, Base{name, int(n)})
	return nil
}
