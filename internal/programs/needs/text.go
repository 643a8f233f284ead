package needs

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io"

	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Is reports whether an ELF file is a file with needs.
func Is(f *elf.File) bool { return f.Section(sectionNeeds) != nil }

// ask is a relocation or symbol in words.
type ask struct {
	Kind string `json:"kind"` // a core.Kind or SymbolKind
	What string `json:"what"` // "struct sock.sk_protocol", "do_exit"
	// Memory is how many bytes of the field the program loads or stores directly. If Memory isn't 0,
	// the field's size matters.
	Memory uint8 `json:"memory,omitempty"`
	Weak   bool  `json:"weak,omitempty"`
	// Args is how many arguments the program reads.
	Args int `json:"args,omitempty"`
	// If is the condition under which the program reaches the relocation, or "" for always.
	If string `json:"if,omitempty"`
	// Settings says that the program reaches the relocation only for some settings (see
	// Program.Certain).
	Settings bool `json:"settings,omitempty"`
	// Why says why libbpf refuses a relocation or symbol for every kernel; Kind is "refused".
	Why string `json:"why,omitempty"`
}

func (a ask) String() string {
	text := a.Kind + " " + a.What
	if a.Memory > 0 {
		text += fmt.Sprintf(", read or written directly, %s", message.Count(int(a.Memory), "byte"))
	}
	if a.Weak {
		text += ", optional"
	}
	if a.Args > 0 {
		text += fmt.Sprintf(", reads %s", message.Count(a.Args, "argument"))
	}
	if a.Settings {
		text += ", for some settings"
	}
	if a.If != "" {
		text += ", if " + a.If
	}
	if a.Why != "" {
		text += ": " + a.Why
	}
	return message.Printable(text)
}

// programText is a program in words.
type programText struct {
	Name    string `json:"name"`
	Section string `json:"section"`
	// Object is the number of the program's object file.
	Object int   `json:"object"`
	Asks   []ask `json:"asks"`
}

// asks returns what a program needs, in words.
func (n *Needs) asks(p *Program) []ask {
	list := []ask{}
	for _, r := range p.Refused {
		list = append(list, ask{Kind: "refused", What: r.What, Why: r.Why})
	}
	add := func(fact int, a ask) {
		if c, ok := p.Conditions[fact]; ok {
			a.If = n.conditionText(p, c)
		}
		_, a.Settings = p.Certain[fact]
		list = append(list, a)
	}
	for i, s := range p.Symbols {
		add(len(p.Relocations)+i, ask{Kind: string(s.Kind), What: s.Name, Weak: s.Weak, Args: s.Args})
	}
	for i, r := range p.Relocations {
		add(i, ask{Kind: r.Kind.String(), What: n.text(r), Memory: r.Memory})
	}
	return list
}

// text returns what a relocation refers to, such as "struct task_struct.mm".
func (n *Needs) text(r core.Relocation) string {
	s, err := core.Parse(n.Local, r)
	if err != nil { // impossible, since Read and Extract have parsed r
		return err.Error()
	}
	return s.String()
}

// conditionText returns a condition as text, with the guards in words.
func (n *Needs) conditionText(p *Program, c Condition) string {
	if len(c) == 0 {
		return "never"
	}
	text := ""
	for i, cube := range c {
		if i > 0 {
			text += " or "
		}
		for j, l := range cube {
			if j > 0 {
				text += " and "
			}
			if !l.Found {
				text += "not "
			}
			text += l.Test.Words(func(fact int) string { return n.factText(p, fact) })
		}
	}
	return text
}

// factText returns a fact as text, such as "type_size(struct task_struct)".
func (n *Needs) factText(p *Program, fact int) string {
	if i := fact - len(p.Relocations); i >= 0 {
		return fmt.Sprintf("%s(%s)", p.Symbols[i].Kind, p.Symbols[i].Name)
	}
	r := p.Relocations[fact]
	return fmt.Sprintf("%v(%s)", r.Kind, n.text(r))
}

// JSON returns the programs in words, for message.WriteJSON.
func (n *Needs) JSON() any {
	list := []programText{}
	for i := range n.Programs {
		p := &n.Programs[i]
		list = append(list, programText{p.Name, p.Section, p.Object, n.asks(p)})
	}
	return struct {
		Programs []programText `json:"programs"`
	}{list}
}

// WriteText writes the needs as text, with a line for each relocation or symbol.
func (n *Needs) WriteText(w io.Writer) error {
	var b bytes.Buffer
	for i := range n.Programs {
		p := &n.Programs[i]
		fmt.Fprintf(&b, "%s (%s)\n", message.Printable(p.Name), message.Printable(p.Section))
		for _, a := range n.asks(p) {
			fmt.Fprintf(&b, "  %v\n", a)
		}
	}
	_, err := b.WriteTo(w)
	return err
}
