package render

import (
	"strings"
	"unicode/utf8"

	"github.com/rules-btf/rules_btf/internal/inspect/diff"
)

// lines writes the rows of a definition. Of rows that have changed, the old sides come first.
func lines(list []Row) []string {
	var out []string
	for i := 0; i < len(list); i++ {
		r := list[i]
		if r.Skipped != "" {
			out = append(out, "        "+r.Skipped)
			continue
		}
		if !r.Changed() && !r.Moved() {
			out = append(out, "    "+cell(r.New))
			continue
		}
		end := i
		for end < len(list) && list[end].Skipped == "" && (list[end].Changed() || list[end].Moved()) {
			end++
		}
		for _, x := range list[i:end] {
			if x.Old != nil {
				out = append(out, "-   "+cell(x.Old))
			}
		}
		for _, x := range list[i:end] {
			if x.New != nil {
				out = append(out, "+   "+cell(x.New))
			}
		}
		i = end - 1
	}
	return out
}

// cell writes one side of a row.
func cell(c *diff.Cell) string {
	s := strings.Repeat("    ", c.Depth) + c.Text
	if c.Note == "" {
		return s
	}
	const width = 48
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s))) + " " + c.Note
}
