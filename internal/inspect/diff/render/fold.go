package render

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Row is a line, or a note about lines that are left out.
type Row struct {
	diff.Line
	Skipped string
}

// context is how many equal lines are kept before and after each changed line.
const context = 2

// Fold leaves out lines that don't help to see what has changed: those far from a changed line, and
// all but the first of several lines that have moved by the same distance.
// Rule: diff: lines that are left out.
func Fold(lines []diff.Line) []Row {
	keep := make([]bool, len(lines))
	mark := func(from, to int) {
		for i := max(0, from); i < min(len(lines), to); i++ {
			keep[i] = keep[i] || !lines[i].Moved() || to == from+1
		}
	}
	last := int64(0) // the distance by which the last line that has moved has moved
	for i, l := range lines {
		switch {
		case l.Changed():
			mark(i-context, i+1+context)
		case l.Moved() && distance(l) != last:
			last = distance(l)
			mark(i, i+1)
		}
	}
	mark(0, 1)
	mark(len(lines)-1, len(lines))
	var out []Row
	for i := 0; i < len(lines); {
		if keep[i] {
			out = append(out, Row{Line: lines[i]})
			i++
			continue
		}
		end := i
		for end < len(lines) && !keep[end] && lines[end].Moved() == lines[i].Moved() {
			end++
		}
		if end == i+1 {
			out = append(out, Row{Line: lines[i]})
		} else {
			out = append(out, Row{Skipped: skipped(lines[i:end])})
		}
		i = end
	}
	return out
}

// skipped describes lines that are all equal, or have all moved by the same distance.
func skipped(lines []diff.Line) string {
	s := "… " + message.Count(len(lines), "more line")
	switch l := lines[0]; {
	case !l.Moved():
		return s
	case isOffset(l):
		return s + ", moved by " + byteText(distance(l))
	default:
		return s + fmt.Sprintf(", changed by %+d", distance(l))
	}
}

func isOffset(l diff.Line) bool { return l.Old.Note != "" && l.Old.Note[0] == '/' }

func byteText(bits int64) string {
	if bits%8 != 0 {
		return fmt.Sprintf("%+d bits", bits)
	}
	return fmt.Sprintf("%+d bytes", bits/8)
}

func distance(l diff.Line) int64 { return l.New.At - l.Old.At }
