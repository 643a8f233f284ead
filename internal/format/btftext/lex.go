package btftext

import (
	"fmt"
	"strconv"
	"strings"
)

// tokenKind is what a token is. A punctuation mark is its character.
type tokenKind byte

const (
	atEnd    tokenKind = 0
	word     tokenKind = 'w'
	quote    tokenKind = '\'' // a name in quotes
	number   tokenKind = '0'
	ellipsis tokenKind = '.'
)

type token struct {
	kind tokenKind
	text string // of a quote: without the quotes, and without escapes
	pos  int
}

// lexer splits a text into tokens. After an error, there are no more tokens.
type lexer struct {
	text string
	pos  int   // where the next token begins, or spaces before it
	tok  token // the current token
	err  error // the first error
}

// failAt records an error at a position in the text, unless there is one already.
func (l *lexer) failAt(pos int, format string, args ...any) {
	if l.err == nil {
		line := 1 + strings.Count(l.text[:pos], "\n")
		l.err = fmt.Errorf("line %d: %s", line, fmt.Sprintf(format, args...))
	}
	l.tok, l.pos = token{pos: len(l.text)}, len(l.text)
}

// expected fails at the current token.
func (l *lexer) expected(what string) {
	l.failAt(l.tok.pos, "expected %s, found %s", what, l.found())
}

// found describes the current token.
func (l *lexer) found() string {
	const most = 40
	switch text := l.text[l.tok.pos:l.pos]; {
	case l.tok.kind == atEnd:
		return "the end of the file"
	case len(text) > most:
		return text[:most] + "..."
	default:
		return text
	}
}

// next moves to the next token.
func (l *lexer) next() {
	for l.pos < len(l.text) && (l.text[l.pos] == ' ' || l.text[l.pos] == '\n') {
		l.pos++
	}
	start := l.pos
	l.tok = token{pos: start}
	if start == len(l.text) {
		return
	}
	switch c := l.text[start]; {
	case isLetter(c):
		for l.pos < len(l.text) && isInWord(l.text[l.pos]) {
			l.pos++
		}
		l.tok.kind, l.tok.text = word, l.text[start:l.pos]
	case isDigit(c):
		for l.pos < len(l.text) && (isDigit(l.text[l.pos]) || l.text[l.pos] == '.') {
			l.pos++
		}
		l.tok.kind, l.tok.text = number, l.text[start:l.pos]
	case c == '\'':
		l.quoted()
	case strings.HasPrefix(l.text[start:], "..."):
		l.pos += len("...")
		l.tok.kind = ellipsis
	case strings.IndexByte("{}()[];:,*=-#", c) >= 0:
		l.pos++
		l.tok.kind = tokenKind(c)
	case c == '<' || c == '>':
		l.failAt(start, "unexpected character %q; is there an unresolved merge conflict?", c)
	default:
		l.failAt(start, "unexpected character %q", c)
	}
}

func isInWord(c byte) bool { return isLetter(c) || isDigit(c) || c == '.' }

// quoted reads a name in quotes.
func (l *lexer) quoted() {
	start := l.pos
	rest := l.text[start+1:]
	end := strings.IndexAny(rest, "'\\\n")
	if end >= 0 && rest[end] == '\'' { // the usual case: nothing is escaped
		l.tok.kind, l.tok.text, l.pos = quote, rest[:end], start+1+end+1
		return
	}
	var name []byte
	for i := start + 1; i < len(l.text) && l.text[i] != '\n'; i++ {
		c := l.text[i]
		if c == '\'' {
			l.tok.kind, l.tok.text, l.pos = quote, string(name), i+1
			return
		}
		if c == '\\' {
			i++
			switch {
			case strings.HasPrefix(l.text[i:], `\`), strings.HasPrefix(l.text[i:], `'`):
				c = l.text[i]
			case strings.HasPrefix(l.text[i:], "x") && len(l.text) > i+2:
				v, err := strconv.ParseUint(l.text[i+1:i+3], 16, 8)
				if err != nil || v == 0 {
					l.failAt(start, `\x must be followed by two hexadecimal digits, and not by 00`)
					return
				}
				c = byte(v)
				i += 2
			default:
				l.failAt(start, `the name has a \ that is not part of \\, \' or \x`)
				return
			}
		}
		name = append(name, c)
	}
	l.failAt(start, "the line ends before the name's closing quote")
}

// is reports whether the current token is this word.
func (l *lexer) is(text string) bool { return l.tok.kind == word && l.tok.text == text }

// accept moves past a token if it is of this kind.
func (l *lexer) accept(kind tokenKind) bool {
	if l.tok.kind != kind {
		return false
	}
	l.next()
	return true
}

// acceptWord moves past this word if it is the current token.
func (l *lexer) acceptWord(text string) bool {
	if !l.is(text) {
		return false
	}
	l.next()
	return true
}

// expect moves past a punctuation mark.
func (l *lexer) expect(kind tokenKind) {
	if !l.accept(kind) {
		l.expected(string(rune(kind)))
	}
}

// isName reports whether the current token is a name.
func (l *lexer) isName() bool {
	return l.tok.kind == quote || l.tok.kind == word && isWord(l.tok.text)
}

// name moves past a name and returns it.
func (l *lexer) name() string {
	name := l.tok.text
	if !l.isName() {
		l.expected("a name")
		return ""
	}
	l.next()
	return name
}

// number moves past a number, which may be at most most.
func (l *lexer) number(most uint64) uint64 {
	v, err := strconv.ParseUint(l.tok.text, 10, 64)
	switch {
	case l.tok.kind != number || err != nil && strings.Contains(l.tok.text, "."):
		l.expected("a number")
		return 0
	case err != nil || v > most:
		l.failAt(l.tok.pos, "%s is larger than %d", l.tok.text, most)
		return 0
	}
	l.next()
	return v
}

// offset moves past a member's offset, which is in bytes, or in bytes and bits, and returns bits.
func (l *lexer) offset() uint64 {
	bytes, bits, hasBits := strings.Cut(l.tok.text, ".")
	v, err := strconv.ParseUint(bytes, 10, 64)
	if l.tok.kind != number || hasBits && (len(bits) != 1 || bits > "7") {
		l.expected("a member's offset (BYTE or BYTE.BIT)")
		return 0
	}
	if err != nil || v > maxOffset/8 {
		l.failAt(l.tok.pos, "the offset %s is too large", l.tok.text)
		return 0
	}
	v *= 8
	if hasBits {
		v += uint64(bits[0] - '0')
	}
	l.next()
	return v
}

// maxOffset limits the offset of a member from the start of the outermost struct, in bits. Each of
// the structs that enclose it adds at most 32 bits.
const maxOffset = 1 << 48
