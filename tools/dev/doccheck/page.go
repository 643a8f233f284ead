package main

import (
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

// missing lists the messages that no pattern shows, each text once, and the patterns that show
// none.
func missing(messages []message, page []pattern) (entries []message, stale []pattern) {
	used := make([]bool, len(page))
	seen := map[string]bool{"": true}
	for _, m := range messages {
		shown := false
		for i, p := range page {
			if p.matches(m) {
				used[i], shown = true, true
			}
		}
		if !shown && !seen[m.text] {
			entries = append(entries, m)
		}
		seen[m.text] = true
	}
	for i, p := range page {
		if !used[i] {
			stale = append(stale, p)
		}
	}
	return entries, stale
}
