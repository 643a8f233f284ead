package manuals

import "strings"

// special are the bytes that mean something in Markdown.
const special = "\\`*_{}[]<>#|~"

// text is a text of one paragraph as Markdown: each character stands for itself.
func text(s string) string {
	var b strings.Builder
	for _, c := range strings.Join(strings.Fields(s), " ") {
		if strings.ContainsRune(special, c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	out := b.String()
	if strings.HasPrefix(out, "-") || strings.HasPrefix(out, "+") || strings.HasPrefix(out, ":") {
		return "\\" + out
	}
	return out
}

// markdown is a help text as Markdown. Lines that are indented stay as they are.
func markdown(help string) string {
	var b strings.Builder
	var paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			b.WriteString(text(strings.Join(paragraph, " ")) + "\n\n")
			paragraph = nil
		}
	}
	literal := false
	for line := range strings.Lines(help) {
		line = strings.TrimRight(line, "\n")
		if indented := strings.HasPrefix(line, "  "); indented != literal {
			end()
			b.WriteString("```\n")
			if literal {
				b.WriteString("\n")
			}
			literal = indented
		}
		switch {
		case literal:
			b.WriteString(line + "\n")
		case line == "":
			end()
		default:
			paragraph = append(paragraph, line)
		}
	}
	if literal {
		b.WriteString("```\n")
	}
	end()
	return strings.TrimRight(b.String(), "\n")
}
