package random

import "strings"

// Program is the source of a linked file.
type Program struct {
	Units []*Unit
	Roots []string // symbols that --gc-sections keeps

	Archive []string // object files of which the linker takes what it needs, from an archive
	Exact   bool     // whether the DWARF of units that the linker drops shows that they are dropped
}

// Unit is one source file.
type Unit struct {
	Path string // "d1/core.c", or .cc for C++
	root *node
	gone bool // whether shrinking has removed the unit
}

// CXX reports whether the unit is C++.
func (u *Unit) CXX() bool { return strings.HasSuffix(u.Path, ".cc") }

// Text returns the unit's source, indented.
func (u *Unit) Text() string { return u.text(true) }

// Outline returns the unit's source without the statements of functions.
func (u *Unit) Outline() string { return u.text(false) }

func (u *Unit) text(statements bool) string {
	var b strings.Builder
	u.root.write(&b, statements)
	return indented(b.String())
}

// Files returns the units that shrinking has not removed.
func (p *Program) Files() []*Unit {
	var left []*Unit
	for _, u := range p.Units {
		if !u.gone {
			left = append(left, u)
		}
	}
	return left
}

// CXX reports whether one of the units is C++.
func (p *Program) CXX() bool {
	for _, u := range p.Files() {
		if u.CXX() {
			return true
		}
	}
	return false
}

func (p *Program) contains(s string) bool {
	for _, u := range p.Files() {
		if strings.Contains(u.Text(), s) {
			return true
		}
	}
	return false
}

// node is a piece of source: a text, or a sequence of pieces.
type node struct {
	text      string
	kids      []*node
	separator string // between the kids
	empty     string // the text to write if no kids are left
	optional  bool   // whether shrinking may remove the node
	gone      bool   // whether shrinking has removed the node
	inside    bool   // whether the node contains a function's statements
}

func text(s string) *node { return &node{text: s} }

// sequence joins strings and nodes to one node.
func sequence(parts ...any) *node {
	n := &node{}
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			n.kids = append(n.kids, text(p))
		case *node:
			n.kids = append(n.kids, p)
		case []*node:
			n.kids = append(n.kids, p...)
		}
	}
	return n
}

// optional returns a sequence that shrinking may remove.
func optional(parts ...any) *node {
	n := sequence(parts...)
	n.optional = true
	return n
}

func (n *node) write(b *strings.Builder, statements bool) {
	b.WriteString(n.text)
	written := 0
	for _, k := range n.kids {
		if k.gone || k.inside && !statements {
			continue
		}
		if written > 0 {
			b.WriteString(n.separator)
		}
		k.write(b, statements)
		written++
	}
	if written == 0 {
		b.WriteString(n.empty)
	}
}

// indented returns a source in which each line is indented by the number of open braces.
func indented(source string) string {
	var b strings.Builder
	depth := 0
	for line := range strings.Lines(source) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		opened, closed := strings.Count(line, "{"), strings.Count(line, "}")
		level := depth
		if strings.HasPrefix(line, "}") {
			level--
		}
		b.WriteString(strings.Repeat("\t", max(level, 0)) + line + "\n")
		depth += opened - closed
	}
	return b.String()
}
