package facts

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Limits for what Parse reads, in bytes.
const (
	maxLine = 1 << 20
	maxText = 1 << 30
)

// lineReader reads lines of words, until the first error.
type lineReader struct {
	lines  *bufio.Scanner
	number int      // of the current line, from 1
	words  []string // of the current line, the keyword first
	err    error    // the first error; anything that is read after it is meaningless
}

func newLineReader(r io.Reader) lineReader {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 1<<16), maxLine)
	lines.Split(wholeLines)
	return lineReader{lines: lines}
}

// wholeLines splits text at newlines, as bufio.ScanLines does, but it keeps carriage returns and
// refuses a last line without a newline.
func wholeLines(data []byte, atEOF bool) (int, []byte, error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return 0, nil, errors.New("the line has no newline; is the file cut short?")
	}
	return 0, nil, nil
}

// fail keeps the first error.
func (l *lineReader) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf(format, args...)
	}
}

// next reads a line into words. It returns false after an error, such as the end of the text.
func (l *lineReader) next() bool {
	if l.err != nil {
		return false
	}
	l.number++
	if l.lines.Scan() {
		l.words = strings.Split(l.lines.Text(), " ")
		return true
	}
	switch l.err = l.lines.Err(); {
	case errors.Is(l.err, bufio.ErrTooLong):
		l.err = fmt.Errorf("the line is longer than %d bytes", maxLine)
	case l.err == nil:
		l.fail("the text ends before the line %q; is the file cut short?", lineEnd)
	}
	return false
}

func (l *lineReader) keyword() string { return l.words[0] }

// expect reads a line that must have the keyword and n more words.
func (l *lineReader) expect(keyword string, n int) {
	if !l.next() {
		return
	}
	if l.keyword() != keyword {
		l.fail("found %q, expected %q", clip(l.keyword()), keyword)
	}
	l.arity(n)
}

func (l *lineReader) arity(n int) {
	if len(l.words) != n+1 {
		l.fail("%q is followed by %s, not %d", l.keyword(),
			message.Count(len(l.words)-1, "word"), n)
	}
}

// outOfOrder is the error for a line that should come before an earlier line.
func (l *lineReader) outOfOrder() {
	l.fail("%s %s is out of order; the lines must be sorted", l.keyword(), clip(l.word(1)))
}

// finish checks that the current line is the last one.
func (l *lineReader) finish() {
	if l.err == nil && (l.lines.Scan() || l.lines.Err() != nil) {
		l.number++
		l.fail("text after the line %q", lineEnd)
	}
}

// word returns word i, or "" if the line has fewer words.
func (l *lineReader) word(i int) string {
	if i < len(l.words) {
		return l.words[i]
	}
	return ""
}

func (l *lineReader) name(i int) string {
	name, err := parseToken(l.word(i))
	if err != nil {
		l.fail("%w", err)
	}
	return name
}

// uint reads word i as a decimal number without leading zeros.
func (l *lineReader) uint(i, bits int) uint64 {
	v, err := strconv.ParseUint(l.word(i), 10, bits)
	if err != nil || strconv.FormatUint(v, 10) != l.word(i) {
		l.fail("%q isn't a number of at most %d bits", clip(l.word(i)), bits)
	}
	return v
}

// flags reads word i as a hexadecimal number of up to 32 bits with the prefix 0x.
func (l *lineReader) flags(i int) uint32 {
	v, err := strconv.ParseUint(strings.TrimPrefix(l.word(i), "0x"), 16, 32)
	if err != nil || fmt.Sprintf("%#x", v) != l.word(i) {
		l.fail("%q isn't a number 0x... of at most 32 bits", clip(l.word(i)))
	}
	return uint32(v)
}

// hash reads word i as 32 lower-case hexadecimal digits that are not all 0.
func (l *lineReader) hash(i int) (h types.Hash) {
	word := l.word(i)
	n, _ := fmt.Sscanf(word, "%16x%16x", &h.A, &h.B)
	if n != 2 || h == (types.Hash{}) || fmt.Sprintf("%016x%016x", h.A, h.B) != word {
		l.fail("%q isn't a hash of 32 digits 0-9a-f", clip(word))
	}
	return h
}

// choice reads word i, which must be one of a list.
func (l *lineReader) choice(i int, list ...string) string {
	if !slices.Contains(list, l.word(i)) {
		l.fail("%q is not one of %s", clip(l.word(i)), strings.Join(list, ", "))
	}
	return l.word(i)
}

func clip(word string) string {
	if len(word) > 80 {
		return word[:80] + "..."
	}
	return word
}

const hexDigits = "0123456789ABCDEF"

// emptyToken is the word for the empty name.
const emptyToken = "-"

// isPlain reports whether a byte of a name needs no escape in a token.
func isPlain(c byte) bool { return c > ' ' && c < 0x7f && c != '%' }

// appendToken writes a name as one word. Bytes other than visible ASCII, and "%", are written as
// %XX; the empty name is written as "-", and the name "-" as "%2D".
func appendToken(b []byte, name string) []byte {
	switch name {
	case "":
		return append(b, emptyToken...)
	case emptyToken:
		return append(b, "%2D"...)
	}
	for i := 0; i < len(name); i++ {
		if c := name[i]; isPlain(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return b
}

// parseToken is the inverse of appendToken. It refuses words that appendToken doesn't write.
func parseToken(word string) (string, error) {
	if word == emptyToken {
		return "", nil
	}
	if word == "%2D" {
		return emptyToken, nil
	}
	name := word
	if strings.IndexByte(word, '%') >= 0 {
		b := make([]byte, 0, len(word))
		for i := 0; i < len(word); i++ {
			c := word[i]
			if c == '%' {
				if i+2 >= len(word) {
					return "", fmt.Errorf("the name %q ends within a %%XX", word)
				}
				high, low := strings.IndexByte(hexDigits, word[i+1]), strings.IndexByte(hexDigits, word[i+2])
				if high < 0 || low < 0 {
					return "", fmt.Errorf("the name %q has a %% without two digits 0-9A-F", word)
				}
				if c = byte(high<<4 | low); isPlain(c) {
					return "", fmt.Errorf("the name %q has %%%02X for a character that needs no escape", word, c)
				}
				i += 2
			}
			b = append(b, c)
		}
		name = string(b)
	}
	for i := 0; i < len(word); i++ {
		if c := word[i]; c <= ' ' || c >= 0x7f {
			return "", fmt.Errorf("the name %q has a byte that must be written as %%%02X", word, c)
		}
	}
	if name == "" {
		return "", fmt.Errorf("an empty name must be written as %s", emptyToken)
	}
	return name, nil
}
