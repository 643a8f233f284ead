package facts

import (
	"bufio"
	"bytes"
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/rules-btf/rules_btf/internal/types"
)

// Bounds of what Parse reads, in bytes.
const (
	maxLine = 1 << 20
	maxText = 1 << 30
)

// Parse reads the text form. It takes only what Write writes: lines that are
// out of order, numbers with leading zeros and the like are errors. Every
// error names its line.
func Parse(r io.Reader) (*Facts, error) {
	limited := &io.LimitedReader{R: r, N: maxText + 1}
	p := parser{facts: &Facts{}, lines: bufio.NewScanner(limited), last: -1}
	p.lines.Buffer(make([]byte, 0, 1<<16), maxLine)
	p.lines.Split(wholeLines)
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

// wholeLines splits at newlines like bufio.ScanLines, but keeps carriage
// returns and takes no last line without its newline.
func wholeLines(data []byte, atEOF bool) (int, []byte, error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return 0, nil, errors.New("the line has no newline; is the file cut short?")
	}
	return 0, nil, nil
}

// parser reads line by line.
type parser struct {
	facts  *Facts
	lines  *bufio.Scanner
	number int      // of the current line, from 1
	words  []string // of the current line, the keyword first
	last   int      // index in facts.Files of the current group; -1 for the globals

	objects, before []Object // of the current group, and of the File before it; their File is 0
}

// next reads a line into words. At the end of the text it is an error.
func (p *parser) next() error {
	p.number++
	if !p.lines.Scan() {
		switch err := p.lines.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			return fmt.Errorf("the line is longer than %d bytes", maxLine)
		case err != nil:
			return err
		}
		return fmt.Errorf("the text ends before the line %q; is the file cut short?", lineEnd)
	}
	p.words = strings.Split(p.lines.Text(), " ")
	return nil
}

func (p *parser) keyword() string { return p.words[0] }

// expect reads a line that must have the keyword and n more words.
func (p *parser) expect(keyword string, n int) error {
	if err := p.next(); err != nil {
		return err
	}
	if p.keyword() != keyword {
		return fmt.Errorf("%q where %q is due", clip(p.keyword()), keyword)
	}
	return p.arity(n)
}

func (p *parser) arity(n int) error {
	if len(p.words) != n+1 {
		return fmt.Errorf("%q has %d words behind it, not %d", p.keyword(), len(p.words)-1, n)
	}
	return nil
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
	} else if version != Format {
		return fmt.Errorf("format %d is not supported, only %d; make the facts anew with the same release of btfgen", version, Format)
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
	name, err := parseToken(p.words[1])
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
	name, err := parseToken(p.words[1])
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

// groups reads what follows the line "global".
func (p *parser) groups() error {
	for {
		if err := p.next(); err != nil {
			return err
		}
		var err error
		switch p.keyword() {
		case lineFunc:
			err = p.function()
		case lineVar:
			err = p.variable()
		case lineFile:
			if err = p.closeGroup(); err == nil {
				err = p.openFile()
			}
		case lineEnd:
			if err = p.closeGroup(); err != nil {
				return err
			}
			if err = p.arity(0); err != nil {
				return err
			}
			if p.lines.Scan() || p.lines.Err() != nil {
				p.number++
				return fmt.Errorf("text behind the line %q", lineEnd)
			}
			return nil
		default:
			err = fmt.Errorf("%q where %q, %q, %q or %q is due", clip(p.keyword()), lineFunc, lineVar,
				lineFile, lineEnd)
		}
		if err != nil {
			return err
		}
	}
}

func (p *parser) openFile() error {
	if err := p.arity(1); err != nil {
		return err
	}
	name, err := parseToken(p.words[1])
	if err != nil {
		return err
	}
	p.facts.Files = append(p.facts.Files, File{Name: name})
	p.last++
	return nil
}

// closeGroup checks the group that ends against the one before it.
func (p *parser) closeGroup() error {
	if p.last >= 0 {
		f := &p.facts.Files[p.last]
		if len(f.Funcs) == 0 && len(p.objects) == 0 {
			return fmt.Errorf("the %q before this line has neither functions nor variables", lineFile)
		}
		if p.last > 0 && cmp.Or(compareFiles(&p.facts.Files[p.last-1], f),
			slices.CompareFunc(p.before, p.objects, compareObjects)) > 0 {
			return fmt.Errorf("the %q before this line should stand before the one that precedes it",
				lineFile)
		}
	}
	p.before, p.objects = p.objects, p.before[:0]
	return nil
}

func (p *parser) function() error {
	if err := p.arity(1); err != nil {
		return err
	}
	name, err := parseToken(p.words[1])
	if err != nil {
		return err
	}
	list := &p.facts.Globals
	if p.last >= 0 {
		list = &p.facts.Files[p.last].Funcs
	}
	if n := len(*list); len(p.objects) > 0 || n > 0 && (*list)[n-1] > name {
		return p.outOfOrder()
	}
	*list = append(*list, name)
	return nil
}

func (p *parser) variable() (err error) {
	o := Object{Local: p.last >= 0}
	if o.Local && len(p.words) == 6 {
		if o.Definition, err = p.hash(5); err != nil {
			return err
		}
	} else if err := p.arity(4); err != nil {
		return err
	}
	if o.Name, err = parseToken(p.words[1]); err != nil {
		return err
	}
	if o.Section, err = parseToken(p.words[2]); err != nil {
		return err
	}
	if o.Offset, err = p.uint(3, 64); err != nil {
		return err
	}
	if o.Size, err = p.uint(4, 64); err != nil {
		return err
	}
	if p.facts.Variables == VariablesNone {
		return fmt.Errorf("a variable although variables are %q", VariablesNone)
	}
	if n := len(p.objects); n > 0 && compareObjects(p.objects[n-1], o) > 0 {
		return p.outOfOrder()
	}
	p.objects = append(p.objects, o)
	o.File = p.last
	p.facts.Objects = append(p.facts.Objects, o)
	return nil
}

func (p *parser) outOfOrder() error {
	return fmt.Errorf("%s %s is not behind what it should follow; the lines are to be sorted",
		p.keyword(), clip(p.words[1]))
}

// uint reads word i as a decimal number without leading zeros.
func (p *parser) uint(i, bits int) (uint64, error) {
	v, err := strconv.ParseUint(p.words[i], 10, bits)
	if err != nil || strconv.FormatUint(v, 10) != p.words[i] {
		return 0, fmt.Errorf("%q is no number of at most %d bits", clip(p.words[i]), bits)
	}
	return v, nil
}

// hash reads word i as 32 lower-case hexadecimal digits that are not all 0.
func (p *parser) hash(i int) (h types.Hash, err error) {
	if word := p.words[i]; len(word) == 32 {
		h.A, err = strconv.ParseUint(word[:16], 16, 64)
		if err == nil {
			h.B, err = strconv.ParseUint(word[16:], 16, 64)
		}
		if err == nil && h != (types.Hash{}) && fmt.Sprintf("%016x%016x", h.A, h.B) == word {
			return h, nil
		}
	}
	return h, fmt.Errorf("%q is no hash of 32 digits 0-9a-f", clip(p.words[i]))
}

// choice gives the index of word i in a list.
func (p *parser) choice(i int, list ...string) (int, error) {
	k := slices.Index(list, p.words[i])
	if k < 0 {
		return 0, fmt.Errorf("%q is none of %s", clip(p.words[i]), strings.Join(list, ", "))
	}
	return k, nil
}

// clip shortens a word for an error message.
func clip(word string) string {
	if len(word) > 80 {
		return word[:80] + "..."
	}
	return word
}
