package render

import (
	"strings"
	"unicode/utf8"

	"github.com/rules-btf/rules_btf/internal/inspect/diff"
)

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
	return c != nil &&
		4*c.Depth+utf8.RuneCountInString(c.Text)+1+utf8.RuneCountInString(c.Note) > width
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
