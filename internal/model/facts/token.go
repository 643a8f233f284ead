package facts

import (
	"fmt"
	"strings"
)

const hexDigits = "0123456789ABCDEF"

// emptyToken stands for the empty name.
const emptyToken = "-"

// plain reports whether a byte of a name stands for itself in a token.
func plain(c byte) bool { return c > ' ' && c < 0x7f && c != '%' }

// appendToken writes a name as one word: bytes that are not visible ASCII, and
// "%", as %XX, the empty name as "-", and the name "-" as "%2D".
func appendToken(b []byte, name string) []byte {
	switch name {
	case "":
		return append(b, emptyToken...)
	case emptyToken:
		return append(b, "%2D"...)
	}
	for i := 0; i < len(name); i++ {
		if c := name[i]; plain(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return b
}

// parseToken reads a word that appendToken wrote, and no other.
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
				if c = byte(high<<4 | low); plain(c) {
					return "", fmt.Errorf("the name %q has %%%02X for a character that stands for itself", word, c)
				}
				i += 2
			}
			b = append(b, c)
		}
		name = string(b)
	}
	for i := 0; i < len(word); i++ {
		if c := word[i]; c <= ' ' || c >= 0x7f {
			return "", fmt.Errorf("the name %q has a byte that is to be written as %%%02X", word, c)
		}
	}
	if name == "" {
		return "", fmt.Errorf("an empty name is written %s", emptyToken)
	}
	return name, nil
}
