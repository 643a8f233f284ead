package elf

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// arHeader is the size of a member header: name 16, date 12, uid 6, gid 6,
// mode 8, size 10 (decimal), end mark 2.
const arHeader = 60

// parseArchive lists the members of one archive without looking at others. In
// a thin archive the offset of a Member is that of a header in the nested
// archive path, or 0.
func parseArchive(name string, data []byte, left *int) (*Archive, error) {
	a := &Archive{Path: name}
	switch {
	case bytes.HasPrefix(data, []byte(thinMagic)):
		a.Thin = true
	case !bytes.HasPrefix(data, []byte(archiveMagic)):
		return nil, fmt.Errorf("%s: not an ar archive (starts with %q)", name, data[:min(8, len(data))])
	}
	var long []byte // the table of long names
	total := int64(len(data))
	for pos := int64(len(archiveMagic)); pos < total; {
		if total-pos < arHeader {
			if len(bytes.Trim(data[pos:], "\n\x00")) == 0 {
				break // padding
			}
			return nil, fmt.Errorf("%s: truncated archive: member header at byte %d of %d; make the archive again", name, pos, total)
		}
		h := data[pos : pos+arHeader]
		if h[58] != '`' || h[59] != '\n' {
			return nil, fmt.Errorf("%s: corrupt archive: no member header at byte %d; make the archive again", name, pos)
		}
		field := strings.TrimRight(string(h[:16]), " ")
		size, err := strconv.ParseInt(strings.TrimSpace(string(h[48:58])), 10, 64)
		if err != nil || size < 0 {
			return nil, fmt.Errorf("%s: corrupt archive: member header at byte %d has size %q", name, pos, h[48:58])
		}
		m := Member{header: pos, offset: pos + arHeader, size: size, path: name}
		special := isSymbolTable(field) || field == "//" || field == "ARFILENAMES/"
		stored := size
		if a.Thin && !special {
			stored = 0
		}
		if stored > total-m.offset {
			return nil, fmt.Errorf("%s: truncated archive: member at byte %d needs %d bytes, %d are left; make the archive again",
				name, pos, stored, total-m.offset)
		}
		pos = m.offset + stored
		pos += pos & 1
		if special {
			if !isSymbolTable(field) {
				long = data[m.offset : m.offset+size]
			}
			continue
		}
		if err := m.readName(field, long, data, a.Thin); err != nil {
			return nil, fmt.Errorf("%s: corrupt archive: member header at byte %d: %w", name, m.header, err)
		}
		if isSymbolTable(m.Name) { // BSD: only the long name tells
			continue
		}
		m.Label = name + "(" + printable(m.Name) + ")"
		if *left--; *left < 0 {
			return nil, tooManyMembers(name)
		}
		a.members = append(a.members, m)
	}
	return a, nil
}

// readName sets Name and, for what is elsewhere, path, offset and size.
func (m *Member) readName(field string, long, data []byte, thin bool) error {
	nested := int64(0)
	switch {
	case strings.HasPrefix(field, "#1/"): // BSD: the name stands before the content
		n, err := strconv.ParseInt(field[3:], 10, 64)
		if err != nil || n < 0 || n > m.size || thin {
			return fmt.Errorf("bad BSD name %q", field)
		}
		m.Name = strings.TrimRight(string(data[m.offset:m.offset+n]), "\x00")
		m.offset += n
		m.size -= n
	case len(field) > 1 && field[0] == '/': // GNU: offset in the table of long names
		off, rest := leadingDigits(field[1:])
		n, err := strconv.ParseInt(off, 10, 64)
		if err != nil || n >= int64(len(long)) {
			return fmt.Errorf("long name %q is not inside the name table (%d bytes)", field, len(long))
		}
		if strings.HasPrefix(rest, ":") {
			off, rest = leadingDigits(rest[1:])
			nested, err = strconv.ParseInt(off, 10, 64)
			if err != nil || nested == 0 || !thin {
				return fmt.Errorf("bad nested member %q", field)
			}
		}
		// GNU ar may leave the end of the short name behind the number.
		if strings.Trim(rest, " /") != "" {
			return fmt.Errorf("bad long name %q", field)
		}
		name, _, ok := bytes.Cut(long[n:min(n+maxName, int64(len(long)))], []byte("\n"))
		if !ok {
			return fmt.Errorf("long name %q has no end", field)
		}
		m.Name = string(bytes.TrimSuffix(name, []byte("/")))
	default:
		m.Name = strings.TrimSuffix(field, "/")
	}
	if m.Name == "" {
		return fmt.Errorf("empty name")
	}
	if !thin {
		return nil
	}
	m.thin, m.offset, m.size = true, nested, -1
	if filepath.IsAbs(m.Name) {
		m.path = m.Name
	} else {
		m.path = filepath.Join(filepath.Dir(m.path), m.Name)
	}
	return nil
}

// leadingDigits splits s behind the decimal digits that it starts with.
func leadingDigits(s string) (digits, rest string) {
	rest = strings.TrimLeft(s, "0123456789")
	return s[:len(s)-len(rest)], rest
}

// isSymbolTable reports whether a name is that of an archive symbol table, in
// the 32- or 64-bit form of GNU or BSD.
func isSymbolTable(name string) bool {
	switch name {
	case "/", "/SYM64/", "__.SYMDEF", "__.SYMDEF SORTED", "__.SYMDEF_64", "__.SYMDEF_64 SORTED":
		return true
	}
	return false
}
