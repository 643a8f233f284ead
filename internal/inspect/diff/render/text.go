// Package render writes what package diff finds: as text for a terminal or a file, or as a page for
// a browser. As an example, the text for a struct with a new member, in one column and in two:
//
//	struct opts: size 4 → 8; 1 added; 1 more type differs only because of it
//	    struct opts {
//	        int level;                       /*     0     4 */
//	+       int flags;                       /*     4     4 */
//	-   };                                   /* size: 4 */
//	+   };                                   /* size: 8 */
//
//	    struct opts {                        │     struct opts {
//	        int level;        /*     0     4 │         int level;        /*     0     4 */
//	                                         │ +       int flags;        /*     4     4 */
package render

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Options says how the text looks.
type Options struct {
	Columns int // two columns next to each other if there are at least TwoColumns columns
	Limit   int // how many differences are written at most, not counting follow-ups; 0: all
}

// overview is how many differences are listed by their titles before all of them are described.
const overview = 15

// TwoColumns is the least width of a terminal, in characters, for two columns.
const TwoColumns = 120

// Text writes a comparison: the summary, then the differences.
func Text(w io.Writer, r diff.Result, opts Options) error {
	out := &text{Writer: bufio.NewWriter(w), columns: opts.Columns}
	out.summary(r.Summary)
	if len(r.Modules) > 0 {
		fmt.Fprintln(out, ModuleCounts(r.Modules))
	}
	own, followUps := split(r.Differences)
	left := 0
	if opts.Limit > 0 && len(own) > opts.Limit {
		left = len(own) - opts.Limit
		own = own[:opts.Limit]
	}
	if len(own) > overview {
		fmt.Fprintln(out, "\nthe most important differences:")
		for i := range own[:overview] {
			fmt.Fprintln(out, "   ", Title(&own[i]))
		}
	}
	short := false // whether the difference before took only one line
	for i := range own {
		d := &own[i]
		sentences, rows := body(d)
		long := len(sentences)+len(rows) > 0
		if long || !short {
			fmt.Fprintln(out)
		}
		short = !long
		fmt.Fprintln(out, Title(d))
		for _, s := range sentences {
			fmt.Fprintf(out, "    %s\n", s)
		}
		for _, l := range out.lines(rows) {
			fmt.Fprintln(out, l)
		}
		for _, f := range followUps[d.Type] {
			fmt.Fprintf(out, "    because of it: %s\n", followUp(f))
		}
	}
	if left > 0 {
		fmt.Fprintf(out, "\n%s left out; --limit=0 prints all\n", message.Count(left, "more difference"))
	}
	if len(r.Modules) > 0 {
		fmt.Fprintln(out)
	}
	for i := range r.Modules {
		fmt.Fprintln(out, ModuleTitle(&r.Modules[i]))
	}
	return out.Flush()
}

// ModuleCounts says how many modules differ.
func ModuleCounts(list []diff.Module) string {
	counts := map[diff.Class]int{}
	for _, m := range list {
		counts[m.Class]++
	}
	return fmt.Sprintf("modules: %d only in A, %d only in B, %d differ, %d differ only because of types "+
		"to which they refer", counts[diff.OnlyA], counts[diff.OnlyB], counts[diff.Differs],
		counts[diff.Indirect])
}

// ModuleTitle is a module in one line: whether both sides have it, and how many types differ.
func ModuleTitle(m *diff.Module) string {
	title := "module " + message.Printable(m.Name) + ": "
	if m.Class == diff.OnlyA || m.Class == diff.OnlyB {
		return title + string(m.Class)
	}
	compatible := 0
	for _, k := range m.Summary.Kinds {
		compatible += k.Compatible
	}
	s := m.Summary
	var parts []string
	for _, x := range []struct {
		n    int
		what string
	}{{s.OnlyA, "only in A"}, {s.OnlyB, "only in B"}, {s.Differs + s.Forward, "changed"},
		{compatible, "of these compatible"}, {s.Indirect, "changed only because of others"}} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprint(x.n, " ", x.what))
		}
	}
	return title + strings.Join(parts, ", ")
}

// followUp is the title of a difference below the one that causes it.
func followUp(d *diff.Difference) string {
	return strings.TrimPrefix(Title(d), string(diff.Indirect)+": ")
}

// split separates the differences that are caused by others in the list. The result followUps has
// them by the type that causes them.
func split(list []diff.Difference) (own []diff.Difference, followUps map[string][]*diff.Difference) {
	followUps = map[string][]*diff.Difference{}
	for i, d := range list {
		if d.Because == "" {
			own = append(own, d)
		} else {
			followUps[d.Because] = append(followUps[d.Because], &list[i])
		}
	}
	return own, followUps
}

type text struct {
	*bufio.Writer
	columns int
}

func (t *text) summary(s diff.Summary) {
	fmt.Fprintln(t, s)
	if s.Same() {
		return
	}
	fmt.Fprintf(t, "\n%-12s%11s%11s%9s%13s%12s\n", "kind", "only in A", "only in B", "changed",
		"compatible", "follow-ups")
	for _, k := range s.Kinds {
		fmt.Fprintf(t, "%-12s%11d%11d%9d%13d%12d\n", k.Kind, k.OnlyA, k.OnlyB, k.Changed, k.Compatible,
			k.Indirect)
	}
}

// Title is a difference in one line: which type differs, and what has changed.
func Title(d *diff.Difference) string {
	switch {
	case d.Class != diff.Differs && (d.Class != diff.Indirect || len(d.Changes) == 0):
		return d.String() + because(d.FollowUps)
	case len(d.Changes) == 1 && d.Changes[0].Kind != diff.Size:
		s := d.Type + ": " + Sentence(d.Changes[0])
		return s + because(d.FollowUps)
	}
	return d.Type + ": " + Counts(d) + because(d.FollowUps)
}

// Counts says how many changes of each kind there are, after the sizes: "size 4 → 8; 1 added".
func Counts(d *diff.Difference) string {
	var parts []string
	counts := map[diff.ChangeKind]int{}
	for _, c := range d.Changes {
		if c.Kind == diff.Size {
			parts = append(parts, Sentence(c))
			continue
		}
		counts[c.Kind]++
	}
	for _, kind := range []diff.ChangeKind{diff.Added, diff.Removed, diff.Renamed, diff.Retyped,
		diff.Resized, diff.Moved, diff.Value, diff.Encoding, diff.Linkage, diff.Reordered,
		diff.Declared, diff.Other} {
		switch n := counts[kind]; {
		case n == 0:
		case kind == diff.Value:
			parts = append(parts, message.Count(n, "different value"))
		default:
			parts = append(parts, fmt.Sprint(n, " ", kind))
		}
	}
	if d.Compatible {
		parts = append(parts, "compatible")
	}
	return strings.Join(parts, "; ")
}

func because(followUps int) string {
	switch followUps {
	case 0:
		return ""
	case 1:
		return "; 1 more type differs only because of it"
	}
	return fmt.Sprintf("; %d more types differ only because of it", followUps)
}

// Sentence is a change in one line: "member bar.baz: type u32 → u64".
func Sentence(c diff.Change) string {
	var s string
	switch {
	case c.Kind == diff.Added:
		s = "added: " + c.After.Text
	case c.Kind == diff.Removed:
		s = "removed: " + c.Before.Text
	case c.After == nil:
		s = c.Before.Text
	default:
		s = fmt.Sprintf("%s %s → %s", c.Noun(), c.Before.Text, c.After.Text)
	}
	if c.Where == "" {
		return s
	}
	return c.Where + ": " + s
}

// body describes a difference below its title: changes in words, and the type's definition on both
// sides.
func body(d *diff.Difference) (sentences []string, rows []Row) {
	var lines []diff.Line
	if d.Class == diff.Differs || d.Class == diff.Forward {
		lines = d.Lines()
	}
	shown := slices.ContainsFunc(lines, func(l diff.Line) bool { return l.Changed() || l.Moved() })
	if shown {
		rows = Fold(lines)
	}
	if len(d.Changes) == 1 && d.Changes[0].Kind != diff.Size {
		return nil, rows // the title has this change
	}
	for _, c := range d.Changes {
		moved := d.Kind == "datasec" && c.Kind == diff.Moved
		if c.Kind != diff.Size && !moved && (!shown || inWords[c.Kind]) {
			sentences = append(sentences, Sentence(c))
		}
	}
	return sentences, rows
}

// inWords are the kinds of changes that a type's definition doesn't show.
var inWords = map[diff.ChangeKind]bool{diff.Linkage: true, diff.Encoding: true,
	diff.Reordered: true, diff.Declared: true, diff.Other: true}

// lines writes lines in two columns if there is room, else in one.
func (t *text) lines(list []Row) []string {
	var out []string
	if t.columns < TwoColumns {
		for i := 0; i < len(list); i++ {
			r := list[i]
			if r.Skipped != "" {
				out = append(out, "        "+r.Skipped)
				continue
			}
			if !r.Changed() && !r.Moved() {
				out = append(out, "    "+cell(r.New, 0))
				continue
			}
			// All old lines that follow each other, then the new ones.
			end := i
			for end < len(list) && list[end].Skipped == "" && (list[end].Changed() || list[end].Moved()) {
				end++
			}
			for _, x := range list[i:end] {
				if x.Old != nil {
					out = append(out, "-   "+cell(x.Old, 0))
				}
			}
			for _, x := range list[i:end] {
				if x.New != nil {
					out = append(out, "+   "+cell(x.New, 0))
				}
			}
			i = end - 1
		}
		return out
	}
	width := (t.columns - 9) / 2
	for _, r := range list {
		if r.Skipped != "" {
			out = append(out, "      "+r.Skipped)
			continue
		}
		if r.Changed() && (isLong(r.Old, width) || isLong(r.New, width)) {
			// A change at the end of a long line would be cut off.
			for _, side := range []struct {
				sign string
				*diff.Cell
			}{{"- ", r.Old}, {"+ ", r.New}} {
				if side.Cell != nil {
					out = append(out, side.sign+cell(side.Cell, 0))
				}
			}
			continue
		}
		minus, plus := "  ", "  "
		if r.Changed() {
			minus, plus = "- ", "+ "
		}
		left, right := pad(cell(r.Old, width), width), cell(r.New, width)
		if r.Old == nil {
			minus = "  "
		}
		if r.New == nil {
			plus = ""
		}
		out = append(out, strings.TrimRight(minus+left+" │ "+plus+right, " "))
	}
	return out
}

// cell writes one side of a line, in at most width characters if width isn't 0.
func cell(c *diff.Cell, width int) string {
	if c == nil {
		return ""
	}
	s := strings.Repeat("    ", c.Depth) + c.Text
	if c.Note == "" {
		return cut(s, width)
	}
	if width == 0 {
		return pad(s, 48) + " " + c.Note
	}
	room := width - utf8.RuneCountInString(c.Note) - 1
	return pad(cut(s, room), room) + " " + c.Note
}

// isLong reports whether one side of a line is longer than width.
func isLong(c *diff.Cell, width int) bool {
	return c != nil && 4*c.Depth+utf8.RuneCountInString(c.Text)+1+utf8.RuneCountInString(c.Note) > width
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// cut shortens a text to width characters, if width isn't 0.
func cut(s string, width int) string {
	if width <= 0 || utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width-1]) + "…"
}
