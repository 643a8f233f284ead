package kabi

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Symbol is an exported symbol: a function or variable that modules may use.
type Symbol struct {
	Name   string
	Module string // the module that exports it, as the kernel calls it; "" if that isn't known
}

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

// maxSymbolName is the largest length of a symbol's name, in bytes (the kernel's KSYM_NAME_LEN).
const maxSymbolName = 512

// consists reports whether text is not empty, and all its characters are in the string of.
func consists(text, of string) bool { return text != "" && strings.Trim(text, of) == "" }

func isSymbolName(text string) bool {
	return consists(text, letters+digits+"_.$") && len(text) <= maxSymbolName &&
		!strings.Contains(digits, text[:1])
}

func isCRC(text string) bool {
	hex, ok := strings.CutPrefix(text, "0x")
	return ok && consists(hex, digits+"abcdefABCDEF") && len(hex) <= 16
}

// isHeader reports whether a line is a name in brackets.
func isHeader(line string) bool {
	name, ok := strings.CutPrefix(line, "[")
	name, end := strings.CutSuffix(name, "]")
	return ok && end && consists(name, letters+digits+"_.-")
}

// ReadSymbols reads a list of symbols, and returns it sorted and without duplicates. The list may
// be a Module.symvers (or what is derived from it, such as RHEL's Module.kabi), a stablelist of
// RHEL, a symbol list of Android, or one name per line. In the last three, lines with a header in
// brackets are skipped. Comments begin with #.
// Rule: kABI: formats of symbol lists.
func ReadSymbols(data []byte) ([]Symbol, error) {
	var list []Symbol
	n, symvers := 0, false
	text := strings.TrimPrefix(string(data), "\ufeff") // a byte order mark
	for line := range strings.Lines(text) {
		n++
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimRight(line, "\r\n \t")
		text := strings.TrimSpace(line)
		if text == "" || isHeader(text) {
			continue
		}
		columns := strings.Split(line, "\t")
		isSymvers := len(columns) > 1 && isCRC(columns[0])
		if len(list) == 0 {
			symvers = isSymvers
		}
		s := Symbol{Name: text}
		var err error
		switch {
		case isSymvers != symvers:
			err = errors.New("some lines are of a Module.symvers, but not all; use two files")
		case symvers:
			s, err = symversLine(columns)
		case !isSymbolName(text):
			err = fmt.Errorf("%q is not the name of a symbol; expected one name per line, "+
				"or a Module.symvers", shorten(text))
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		list = append(list, s)
	}
	switch {
	case len(list) == 0:
		return nil, errors.New("the list has no symbols; write one name per line, or " +
			"use a Module.symvers")
	case symvers && !strings.HasSuffix(text, "\n"):
		return nil, fmt.Errorf("line %d: a Module.symvers ends with a newline; this one is "+
			"truncated; build it again", n)
	}
	slices.SortFunc(list, func(a, b Symbol) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Module, b.Module))
	})
	return slices.Compact(list), nil
}

// symversLine reads a line of a Module.symvers: the CRC, the name, the module, the kind of export
// and, since Linux 5.8, the namespace. Linux 5.4 to 5.7 have the namespace before the module.
func symversLine(columns []string) (s Symbol, err error) {
	export := slices.IndexFunc(columns, func(c string) bool {
		return strings.HasPrefix(c, "EXPORT_") || strings.HasPrefix(c, "EXPORT ")
	})
	if export != 3 && export != 4 || !isSymbolName(columns[1]) {
		return s, fmt.Errorf("%q is not a line of a Module.symvers; expected the CRC, the name, "+
			"the module and EXPORT_SYMBOL, with tabs between them",
			shorten(strings.Join(columns, "\t")))
	}
	module := path.Base(strings.TrimSuffix(columns[export-1], ".ko"))
	return Symbol{columns[1], strings.NewReplacer("-", "_", ",", "_").Replace(module)}, nil
}

// shorten shortens a text from a file for an error.
func shorten(text string) string {
	const most = 60
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// some lists the first names of a list: "a, b and 3 more".
func some(names []string, most int) string {
	shown := names[:min(most, len(names))]
	text := make([]string, len(shown))
	for i, name := range shown {
		text[i] = message.Printable(name)
	}
	s := strings.Join(text, ", ")
	if more := len(names) - len(shown); more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}
