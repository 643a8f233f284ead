package main

import (
	"slices"
	"strings"
)

// A pattern is a message as the page of troubles shows it. If it ends in …, the message may go
// on.
type pattern struct {
	line int
	text string
}

// least is how many bytes of a message a pattern has at least that doesn't show it whole.
const least = 25

// patterns lists those of a page: the lines in its blocks of the kind "text". A line that is
// indented goes on with the one before.
func patterns(page string) []pattern {
	var found []pattern
	inside := false
	for i, line := range strings.Split(page, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```text"
		case !inside || line == "":
		case strings.HasPrefix(line, "  ") && len(found) > 0:
			found[len(found)-1].text += " " + strings.TrimSpace(line)
		default:
			found = append(found, pattern{i + 1, line})
		}
	}
	return found
}

func (p pattern) matches(m message) bool {
	if p.text == m.text {
		return true
	}
	begin, cut := strings.CutSuffix(p.text, "…")
	return cut && len(begin) >= least && strings.HasPrefix(m.text, begin)
}

// stale lists the patterns of a page that show none of the messages.
func stale(messages []message, page []pattern) []pattern {
	var found []pattern
	for _, p := range page {
		if !slices.ContainsFunc(messages, p.matches) {
			found = append(found, p)
		}
	}
	return found
}
