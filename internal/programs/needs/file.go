package needs

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/btfext"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// A file with needs is an ELF file for BPF with three sections. Two of them have the same format as
// in object files of programs, so "bpftool gen min_core_btf" also reads files with needs.
//
//	.BTF        the local types; their strings, and those of the other sections
//	.BTF.ext    the relocations: a section for each program with relocations, named after it
//	.BTF.needs  the rest, as lines of text:
//
//	    btfneeds 2
//	    program "NAME" "SECTION" RELOCATIONS OBJECT
//	                                              the number of the program's relocations, and the
//	                                              number of its object file
//	    memory INDEX BYTES                        relocation INDEX (from 0) is in a load or store
//	    shared INDEX…                             relocations that libbpf resolves for the whole
//	                                              object file
//	    refused program|object "WHAT" "WHY"       what libbpf refuses for every kernel, with the
//	                                              program or the whole object file
//	    symbol KIND "NAME" weak|strong TYPE ARGS  TYPE is an id in .BTF, or 0
//	    when FACT CONDITION                       when this is reached, such as 1 !2 | 4,#100,>
//	    certain FACT CONDITION                    when this is reached for all settings
//
// A FACT is the index of a relocation, or the number of relocations plus the index of a symbol. See
// Condition and reach.Test.
const sectionNeeds = ".BTF.needs"

const firstLine = "btfneeds 2"

// Write returns the bytes of a file with needs.
// Rule: .needs: sections and lines of the file.
func Write(n *Needs) ([]byte, error) {
	blob := *n.Local.Blob
	names := []byte(blob.Strings)
	offsets := map[string]uint32{}
	name := func(s string) uint32 {
		if at, ok := offsets[s]; ok {
			return at
		}
		at := uint32(len(names))
		names = append(append(names, s...), 0)
		offsets[s] = at
		return at
	}
	var sections []btfext.Section
	var text strings.Builder
	line := func(s string) { text.WriteString(s + "\n") }
	line(firstLine)
	for _, p := range n.Programs {
		line(programLine(p.Name, p.Section, len(p.Relocations), p.Object))
		s := btfext.Section{Name: name(p.Name)}
		for i, r := range p.Relocations {
			s.Relocations = append(s.Relocations, btfext.Relocation{Insn: uint32(8 * i), Type: r.Type,
				Access: name(r.Access), Kind: uint32(r.Kind)})
			if r.Memory > 0 {
				line(memoryLine(i, r.Memory))
			}
		}
		if p.Shared != nil {
			line(sharedLine(p.Shared))
		}
		for _, r := range p.Refused {
			line(refusedLine(r))
		}
		if s.Relocations != nil {
			sections = append(sections, s)
		}
		for _, s := range p.Symbols {
			line(symbolLine(s))
		}
		text.WriteString(p.conditions())
	}
	blob.Strings = string(names)
	types, err := btf.Encode(&blob, btf.EncodeOptions{})
	if err != nil {
		return nil, err
	}
	ext, err := btfext.Encode(sections, n.Order)
	if err != nil {
		return nil, err
	}
	o := elfwrite.File{AddrSize: 8, Order: n.Order, Machine: uint16(elf.EM_BPF),
		Sections: []elfwrite.Section{{Name: btf.SectionTypes, Data: types, Align: 4},
			{Name: btfext.SectionName, Data: ext, Align: 4},
			{Name: sectionNeeds, Data: []byte(text.String())}}}
	return o.Bytes()
}

func programLine(name, section string, relocations, object int) string {
	return fmt.Sprintf("program %q %q %d %d", name, section, relocations, object)
}

func memoryLine(i int, bytes uint8) string { return fmt.Sprintf("memory %d %d", i, bytes) }

func conditionLine(word string, i int, c Condition) string {
	return fmt.Sprintf("%s %d %v", word, i, c)
}

func symbolLine(s Symbol) string {
	return fmt.Sprintf("symbol %s %q %s %d %d", s.Kind, s.Name, strength(s.Weak), s.Type, s.Args)
}

func strength(weak bool) string {
	if weak {
		return "weak"
	}
	return "strong"
}

// ReadFile reads a file that Write wrote. Errors name the file.
func ReadFile(path string) (*Needs, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	n, err := Read(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}

// Read reads what Write wrote.
func Read(data []byte) (*Needs, error) {
	if len(data) == 0 {
		return nil, message.Empty(`a file from "btfcore needs"`)
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil || f.Section(sectionNeeds) == nil {
		return nil, errors.New(`not a file from "btfcore needs": make one from the object files of ` +
			"the programs")
	}
	var content [3][]byte
	for i, name := range []string{btf.SectionTypes, btfext.SectionName, sectionNeeds} {
		s := f.Section(name)
		if s == nil {
			return nil, fmt.Errorf("no section %s; make the file again", name)
		}
		if content[i], err = s.Data(); err != nil {
			return nil, fmt.Errorf("section %s: %w", name, err)
		}
	}
	n := &Needs{Order: f.ByteOrder}
	blob, err := btf.Parse(content[0], nil)
	if err == nil {
		n.Local, err = core.NewBTF(blob, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("section .BTF: %w", err)
	}
	sections, err := btfext.Parse(content[1], f.ByteOrder)
	if err != nil {
		return nil, fmt.Errorf("section .BTF.ext: %w"+message.Rebuild, err)
	}
	r := fileReader{needs: n, sections: sections}
	if err := r.lines(string(content[2])); err != nil {
		return nil, fmt.Errorf("section %s: %w; make the file again with this btfcore",
			sectionNeeds, err)
	}
	return n, nil
}

// fileReader reads the lines of .BTF.needs.
type fileReader struct {
	needs    *Needs
	sections []btfext.Section // the sections that no program has taken yet
}

func (r *fileReader) lines(text string) error {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if lines[0] != firstLine {
		return fmt.Errorf("line 1 is %q, expected %q", lines[0], firstLine)
	}
	for i, line := range lines[1:] {
		if err := r.line(line); err != nil {
			return fmt.Errorf("line %d: %w", i+2, err)
		}
	}
	if len(r.sections) > 0 {
		return fmt.Errorf(".BTF.ext has %s for which there is no program",
			message.Count(len(r.sections), "section"))
	}
	return nil
}

func (r *fileReader) line(line string) error {
	var kind, name, section, strength string
	var number uint32
	n := r.needs
	switch word, _, _ := strings.Cut(line, " "); word {
	case "program":
		var object int
		_, err := fmt.Sscanf(line, "program %q %q %d %d", &name, &section, &number, &object)
		if err != nil || object < 0 || line != programLine(name, section, int(number), object) {
			return errors.New("malformed program")
		}
		return r.program(Program{Name: name, Section: section, Object: object}, number)
	case "memory":
		p := r.last()
		var bytes uint8
		if _, err := fmt.Sscanf(line, "memory %d %d", &number, &bytes); err != nil || p == nil ||
			uint64(number) >= uint64(len(p.Relocations)) || bytes == 0 ||
			line != memoryLine(int(number), bytes) {
			return errors.New("malformed memory")
		}
		p.Relocations[number].Memory = bytes
		return nil
	case "when", "certain":
		return r.condition(word, line)
	case "shared", "refused":
		if r.last() == nil {
			return errors.New("malformed " + word)
		}
		return r.last().objectLine(word, line)
	case "symbol":
		p := r.last()
		var args int
		_, err := fmt.Sscanf(line, "symbol %s %q %s %d %d", &kind, &name, &strength, &number, &args)
		s := Symbol{SymbolKind(kind), name, strength == "weak", number, args}
		if err != nil || p == nil || args < 0 || number >= n.Local.EndID() || line != symbolLine(s) {
			return errors.New("malformed symbol")
		}
		if !slices.Contains(symbolKinds, s.Kind) {
			return fmt.Errorf("unknown kind of symbol %q", kind)
		}
		p.Symbols = append(p.Symbols, s)
		return nil
	}
	return fmt.Errorf("unknown %s", strconv.Quote(line[:min(len(line), 40)]))
}

// condition reads a line with a condition. Its parameter word is the first word of the line, "when"
// or "certain".
func (r *fileReader) condition(word, line string) error {
	p := r.last()
	words := strings.SplitN(line, " ", 3)
	if len(words) < 3 || p == nil {
		return errors.New("malformed " + word)
	}
	n := len(p.Relocations) + len(p.Symbols)
	i, err := strconv.Atoi(words[1])
	if err != nil || i < 0 || i >= n {
		return fmt.Errorf("%q is not one of %d relocations and symbols", words[1], n)
	}
	c, err := parseCondition(words[2], n)
	if err != nil {
		return err
	}
	into := &p.Conditions
	if word == "certain" {
		into = &p.Certain
	}
	if _, twice := (*into)[i]; twice || line != conditionLine(word, i, c) {
		return errors.New("malformed " + word)
	}
	if *into == nil {
		*into = map[int]Condition{}
	}
	(*into)[i] = c
	return nil
}

func (r *fileReader) last() *Program {
	if len(r.needs.Programs) == 0 {
		return nil
	}
	return &r.needs.Programs[len(r.needs.Programs)-1]
}

// program adds a program with the relocations of the next section.
func (r *fileReader) program(p Program, relocations uint32) error {
	n := r.needs
	if relocations > 0 {
		if len(r.sections) == 0 || uint64(len(r.sections[0].Relocations)) != uint64(relocations) {
			return fmt.Errorf(".BTF.ext doesn't have the %d relocations of %q", relocations, p.Name)
		}
		for _, x := range r.sections[0].Relocations {
			access, err := n.Local.Name(x.Access)
			relocation := core.Relocation{Kind: core.Kind(x.Kind), Type: x.Type, Access: access}
			if err == nil {
				_, err = core.Parse(n.Local, relocation)
			}
			if err != nil {
				return fmt.Errorf("%q: %w", p.Name, err)
			}
			p.Relocations = append(p.Relocations, relocation)
		}
		r.sections = r.sections[1:]
	}
	n.Programs = append(n.Programs, p)
	return nil
}
