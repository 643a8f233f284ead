package kbuild

import (
	"bufio"
	"errors"
	"io"
	"path"
	"strings"
)

// input is a linked object file, under the name that it has in the linker's map.
type input struct {
	archive string // the archive that contains the object, or "" if the map names none
	name    string
}

// maxLine is the maximum length of a line in a map. C++ and Rust names can be long.
const maxLine = 1 << 20

// parseMap reads a map file of GNU ld or lld. It returns the linked object files in the order of
// the map: GNU ld lists members of archives first, then files from the command line; lld lists
// object files in the order of their first sections. Objects with tables that link-vmlinux.sh makes
// from an earlier link (.tmp_vmlinux*) are left out, because they have no types.
func parseMap(r io.Reader) ([]input, error) {
	var objects []input
	seen := map[input]bool{}
	add := func(in input) {
		if strings.HasSuffix(in.name, ".o") && !isTable(in.name) && !seen[in] {
			seen[in] = true
			objects = append(objects, in)
		}
	}
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, maxLine)
	inMembers, lld := false, false
	for sc.Scan() {
		line := sc.Text()
		switch {
		case strings.HasSuffix(line, "Align Out     In      Symbol"):
			lld = true
		case lld:
			if name, _, ok := strings.Cut(line, ":("); ok {
				// A line is like "ffffffff81000000 1000000 1b0 16 vmlinux.a(init/main.o):(.text)".
				add(member(name[strings.LastIndexByte(name, ' ')+1:]))
			}
		case strings.HasPrefix(line, "Archive member included"):
			inMembers = true
			sc.Scan() // an empty line
		case line == "":
			inMembers = false
		case inMembers && line[0] != ' ':
			// After a long name, the reason for the member is on the next line, which begins with blanks.
			name, _, _ := strings.Cut(line, " ")
			add(member(name))
		case strings.HasPrefix(line, "LOAD "):
			add(member(strings.TrimPrefix(line, "LOAD ")))
		}
	}
	if err := sc.Err(); err != nil {
		return nil, err
	}
	if len(objects) == 0 {
		return nil, errors.New("not a map file of GNU ld or lld, or it lists no objects; build again")
	}
	return objects, nil
}

// member parses "ARCHIVE(NAME)". For a member of a thin archive, GNU ld writes only the path.
func member(name string) input {
	if archive, rest, ok := strings.Cut(name, "("); ok {
		return input{archive, strings.TrimSuffix(rest, ")")}
	}
	return input{name: name}
}

// isTable reports whether link-vmlinux.sh made an object from an earlier link: kallsyms, or BTF.
func isTable(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, ".tmp_") || base == ".btf.vmlinux.bin.o"
}
