package elf

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

const (
	archiveMagic = "!<arch>\n"
	thinMagic    = "!<thin>\n"
)

func isArchiveMagic(magic string) bool { return magic == archiveMagic || magic == thinMagic }

type member struct {
	Input
	name   string // a file name; in a thin archive, a path relative to the archive
	header int64  // offset of the member's header in the archive
}

// arHeader is the size of a member's header in bytes: name 16, date 12, uid 6, gid 6, mode 8, size
// 10 (decimal), end mark 2.
const arHeader = 60

// remake ends a message about a damaged archive.
const remake = "; make the archive again"

// parseArchive lists the members of one archive, without looking at other files, and reports
// whether the archive is thin. In a thin archive, the offset of a member is 0 or, if the member's
// path is that of a nested archive, the offset of a header in that archive.
func parseArchive(name string, data []byte) (members []member, thin bool, err error) {
	switch {
	case bytes.HasPrefix(data, []byte(thinMagic)):
		thin = true
	case !bytes.HasPrefix(data, []byte(archiveMagic)):
		return nil, false, fmt.Errorf("%s: not an ar archive (starts with %q)", name,
			data[:min(8, len(data))])
	}
	corrupt := func(format string, args ...any) ([]member, bool, error) {
		return nil, false, fmt.Errorf("%s: corrupt archive: "+format+remake,
			append([]any{name}, args...)...)
	}
	var long longNames
	total := int64(len(data))
	for pos := int64(len(archiveMagic)); pos < total; {
		if total-pos < arHeader {
			if len(bytes.Trim(data[pos:], "\n\x00")) == 0 {
				break // padding
			}
			return nil, false, fmt.Errorf("%s: truncated archive: member header at byte %d is cut off at "+
				"byte %d"+remake, name, pos, total)
		}
		h := data[pos : pos+arHeader]
		if h[58] != '`' || h[59] != '\n' {
			return corrupt("no member header at byte %d", pos)
		}
		field := strings.TrimRight(string(h[:16]), " ")
		size, err := strconv.ParseInt(strings.TrimSpace(string(h[48:58])), 10, 64)
		if err != nil || size < 0 {
			return corrupt("member header at byte %d has size %q", pos, h[48:58])
		}
		m := member{Input{path: name, offset: pos + arHeader, size: size, thin: thin}, "", pos}
		special := isSymbolTable(field) || field == "//" || field == "ARFILENAMES/"
		stored := size
		if thin && !special {
			stored = 0
		}
		if stored > total-m.offset {
			return nil, false, fmt.Errorf("%s: truncated archive: member at byte %d needs %d bytes, "+
				"but only %d are left"+remake, name, pos, stored, total-m.offset)
		}
		pos = m.offset + stored
		pos += pos & 1
		if special {
			if !isSymbolTable(field) {
				long.table = data[m.offset : m.offset+size]
			}
			continue
		}
		if err := m.readName(field, &long, data); err != nil {
			return corrupt("member header at byte %d: %w", m.header, err)
		}
		if isSymbolTable(m.name) { // in BSD archives, only the long name shows this
			continue
		}
		m.Label = name + "(" + message.Printable(m.name) + ")"
		members = append(members, m)
	}
	return members, thin, nil
}

// readName sets the name from the header's field and the table of long names. If a long name
// precedes the content (BSD), readName adjusts offset and size. In a thin archive, it sets path,
// offset and size to where the content is, in the file that the name refers to.
func (m *member) readName(field string, long *longNames, data []byte) error {
	nested := int64(0)
	switch {
	case strings.HasPrefix(field, "#1/"): // BSD: the name comes before the content
		n, err := strconv.ParseInt(field[3:], 10, 64)
		if err != nil || n < 0 || n > m.size || m.thin {
			return fmt.Errorf("bad BSD name %q", field)
		}
		m.name = strings.TrimRight(string(data[m.offset:m.offset+n]), "\x00")
		m.offset += n
		m.size -= n
	case len(field) > 1 && field[0] == '/': // GNU: offset in the table of long names
		off, rest := leadingDigits(field[1:])
		n, err := strconv.ParseInt(off, 10, 64)
		if err != nil || n >= int64(len(long.table)) {
			return fmt.Errorf("long name %q is not inside the name table (%d bytes)", field,
				len(long.table))
		}
		if strings.HasPrefix(rest, ":") {
			off, rest = leadingDigits(rest[1:])
			nested, err = strconv.ParseInt(off, 10, 64)
			if err != nil || nested == 0 || !m.thin {
				return fmt.Errorf("bad nested member %q", field)
			}
		}
		// After the number, GNU ar may leave the end of the short name.
		if strings.Trim(rest, " /") != "" {
			return fmt.Errorf("bad long name %q", field)
		}
		if m.name, err = long.nameAt(n); err != nil {
			return fmt.Errorf("long name %q %w", field, err)
		}
	default:
		m.name = strings.TrimSuffix(field, "/")
	}
	if m.name == "" {
		return fmt.Errorf("empty name")
	}
	if !m.thin {
		return nil
	}
	m.offset, m.size = nested, -1
	if filepath.IsAbs(m.name) {
		m.path = m.name
	} else {
		m.path = filepath.Join(filepath.Dir(m.path), m.name)
	}
	return nil
}

// longNames is the table of names that don't fit in a member header. Each name ends with a newline.
type longNames struct {
	table []byte
	read  map[int64]string // by offset: members of a thin archive may share a name
	size  int              // bytes of the names that were read
}

// nameAt returns the name at an offset in the table. Names must not overlap, so together they are
// at most as large as the table.
func (t *longNames) nameAt(off int64) (string, error) {
	if name, ok := t.read[off]; ok {
		return name, nil
	}
	name, _, ok := bytes.Cut(t.table[off:min(off+maxName, int64(len(t.table)))], []byte("\n"))
	if !ok {
		return "", errors.New("has no end")
	}
	if t.size += len(name) + 1; t.size > len(t.table) {
		return "", errors.New("overlaps other names")
	}
	if t.read == nil {
		t.read = make(map[int64]string)
	}
	t.read[off] = string(bytes.TrimSuffix(name, []byte("/")))
	return t.read[off], nil
}

// leadingDigits splits s after the decimal digits that it starts with.
func leadingDigits(s string) (digits, rest string) {
	rest = strings.TrimLeft(s, "0123456789")
	return s[:len(s)-len(rest)], rest
}

// isSymbolTable reports whether a name is that of a GNU or BSD symbol table, 32-bit or 64-bit.
func isSymbolTable(name string) bool {
	switch name {
	case "/", "/SYM64/", "__.SYMDEF", "__.SYMDEF SORTED", "__.SYMDEF_64", "__.SYMDEF_64 SORTED":
		return true
	}
	return false
}
