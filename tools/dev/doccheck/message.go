package main

import (
	"regexp"
	"strings"
)

// A message is what a program or rule says when something is wrong.
type message struct {
	where string // file, line and column
	text  string // with … for what differs from case to case
}

var (
	verb     = regexp.MustCompile(`%%|%(\[\d+\])?[-+# 0]*[\d*]*(\.[\d*]+)?(\[\d+\])?[a-zA-Z]`)
	ellipses = regexp.MustCompile(`…(…|\.\.\.)*`)
	prefix   = regexp.MustCompile(`^(…: )+`)
	word     = regexp.MustCompile(`[A-Za-z]{2,}`)
)

// fromGo makes the text of a format of package fmt. It is empty if the format only puts a place
// before another error.
func fromGo(format string) string {
	text := clean(verb.ReplaceAllStringFunc(format, func(v string) string {
		if v == "%%" {
			return "%"
		}
		return "…"
	}))
	if strings.HasSuffix(format, ": %w") && len(word.FindAllString(text, -1)) <= 3 {
		return ""
	}
	return text
}

// clean joins what differs, and drops the name of a file at the beginning. What is left has two
// words at least, or is nothing.
func clean(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	text = prefix.ReplaceAllString(ellipses.ReplaceAllString(text, "…"), "")
	if len(word.FindAllString(text, -1)) < 2 {
		return ""
	}
	return text
}
