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

	"github.com/rules-btf/rules_btf/internal/types"
)

// Bounds of what Parse reads, in bytes.
const (
	maxLine = 1 << 20
	maxText = 1 << 30
)

// lineReader reads lines of words.
type lineReader struct {
	lines  *bufio.Scanner
	number int      // of the current line, from 1
	words  []string // of the current line, the keyword first
}

func newLineReader(r io.Reader) lineReader {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 1<<16), maxLine)
	lines.Split(wholeLines)
	return lineReader{lines: lines}
}

// wholeLines splits at newlines like bufio.ScanLines, but keeps carriage returns and takes
// no last line without its newline.
func wholeLines(data []byte, atEOF bool) (int, []byte, error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return 0, nil, errors.New("the line has no newline; is the file cut short?")
	}
	return 0, nil, nil
}

// next reads a line into words. At the end of the text it is an error.
func (l *lineReader) next() error {
	l.number++
	if !l.lines.Scan() {
		switch err := l.lines.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			return fmt.Errorf("the line is longer than %d bytes", maxLine)
		case err != nil:
			return err
		}
		return fmt.Errorf("the text ends before the line %q; is the file cut short?", lineEnd)
	}
	l.words = strings.Split(l.lines.Text(), " ")
	return nil
}

// keyword is the first word of the current line.
func (l *lineReader) keyword() string { return l.words[0] }

// expect reads a line that must have the keyword and n more words.
func (l *lineReader) expect(keyword string, n int) error {
	if err := l.next(); err != nil {
		return err
	}
	if l.keyword() != keyword {
		return fmt.Errorf("%q where %q is due", clip(l.keyword()), keyword)
	}
	return l.arity(n)
}

// arity checks that n words follow the keyword.
func (l *lineReader) arity(n int) error {
	if len(l.words) != n+1 {
		return fmt.Errorf("%q has %d words after it, not %d", l.keyword(), len(l.words)-1, n)
	}
	return nil
}

// outOfOrder is the error of a line that should stand before another one.
func (l *lineReader) outOfOrder() error {
	return fmt.Errorf("%s %s is out of order; the lines are to be sorted",
		l.keyword(), clip(l.words[1]))
}

// finish checks that the current line is the last.
func (l *lineReader) finish() error {
	if l.lines.Scan() || l.lines.Err() != nil {
		l.number++
		return fmt.Errorf("text after the line %q", lineEnd)
	}
	return nil
}

// name reads word i as a name.
func (l *lineReader) name(i int) (string, error) { return parseToken(l.words[i]) }

// uint reads word i as a decimal number without leading zeros.
func (l *lineReader) uint(i, bits int) (uint64, error) {
	v, err := strconv.ParseUint(l.words[i], 10, bits)
	if err != nil || strconv.FormatUint(v, 10) != l.words[i] {
		return 0, fmt.Errorf("%q is no number of at most %d bits", clip(l.words[i]), bits)
	}
	return v, nil
}

// hash reads word i as 32 lower-case hexadecimal digits that are not all 0.
func (l *lineReader) hash(i int) (h types.Hash, err error) {
	if word := l.words[i]; len(word) == 32 {
		h.A, err = strconv.ParseUint(word[:16], 16, 64)
		if err == nil {
			h.B, err = strconv.ParseUint(word[16:], 16, 64)
		}
		if err == nil && h != (types.Hash{}) && fmt.Sprintf("%016x%016x", h.A, h.B) == word {
			return h, nil
		}
	}
	return h, fmt.Errorf("%q is no hash of 32 digits 0-9a-f", clip(l.words[i]))
}

// choice gives the index of word i in a list.
func (l *lineReader) choice(i int, list ...string) (int, error) {
	k := slices.Index(list, l.words[i])
	if k < 0 {
		return 0, fmt.Errorf("%q is not one of %s", clip(l.words[i]), strings.Join(list, ", "))
	}
	return k, nil
}

// clip shortens a word for an error message.
func clip(word string) string {
	if len(word) > 80 {
		return word[:80] + "..."
	}
	return word
}
