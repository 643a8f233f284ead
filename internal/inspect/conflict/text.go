package conflict

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Lists are cut to this many files, sources or names if that leaves out more than one item.
const (
	fewFiles   = 3
	fewSources = 3
	fewNames   = 8
)

// WriteText writes the report as text. It cuts long lists short unless the parameter all is set.
func (r *Report) WriteText(w io.Writer, all bool) error {
	out := bufio.NewWriter(w)
	own, others := r.Own()
	for _, c := range own {
		fmt.Fprintf(out, "%v: %d definitions\n", c.Name, len(c.Definitions))
		for _, d := range c.Definitions {
			fmt.Fprintf(out, "  %s in %s\n", d.ID, d.holders(all))
		}
		for _, d := range c.Definitions[1:] {
			fmt.Fprintf(out, "  %s vs %s: %v\n", c.Definitions[0].ID, d.ID, d.Difference)
		}
		var also []string
		for _, o := range others {
			if slices.Contains(o.Because, c.Name) {
				also = append(also, o.Name.String())
			}
		}
		if len(also) > 0 {
			fmt.Fprintf(out, "  because of it, these differ too: %s\n", list(also, fewNames, all, ""))
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out, r.summary(len(own), len(others)))
	return out.Flush()
}

func (r *Report) summary(own, others int) string {
	of := fmt.Sprintf("in %s (%s)", message.Count(r.Files, "file"), message.Count(r.Units, "unit"))
	if own+others == 0 {
		return "no conflicts " + of
	}
	s := message.Count(own, "conflict") + " " + of
	if others > 0 {
		s += fmt.Sprintf("; %s only because of these", message.Count(others, "more name"))
	}
	return s
}

// holders describes which inputs hold a definition: "12 units: a.btfo (a.c), b.btfo (b.c), c.btfo
// (c.c) and 9 more files".
func (d Definition) holders(all bool) string {
	var files []string
	for _, h := range d.Files {
		s := h.Path
		switch {
		case len(h.Sources) > 0:
			s += " (" + list(h.Sources, fewSources, all, "source") + ")"
		case h.Base:
			s += " (base)"
		}
		files = append(files, message.Printable(s))
	}
	if len(files) == 0 {
		return "no unit (units only refer to it)"
	}
	s := list(files, fewFiles, all, "file")
	if d.Units > 0 {
		s = message.Count(d.Units, "unit") + ": " + s
	}
	return s
}

// list joins items. Unless the parameter all is set, it only counts the items after the first few:
// "a, b and 9 more files". The parameter what is the word for an item, or "" for no word.
func list(items []string, few int, all bool, what string) string {
	if all || len(items) <= few+1 {
		return strings.Join(items, ", ")
	}
	more := fmt.Sprintf("%d more", len(items)-few)
	if what != "" {
		more += " " + what + "s"
	}
	return strings.Join(items[:few], ", ") + " and " + more
}
