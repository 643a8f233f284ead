package kbuild

import (
	"bufio"
	"errors"
	"io"
	"path"
	"strings"
)

// input is an object that was linked, as named in the linker's map.
type input struct {
	archive string // that it is a member of, "" if the map names none
	name    string
}

// maxLine bounds a line of a map. C++ and Rust have long names.
const maxLine = 1 << 20

// parseMap reads a map file of GNU ld or lld. It returns the linked object files in order: first
// members of archives, then files of the command line; in lld's map by their first sections. It
// leaves out the tables that link-vmlinux.sh makes from an earlier link (.tmp_vmlinux*), which have
// no types.
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
				// A line such as "ffffffff81000000 1000000 1b0 16 vmlinux.a(init/main.o):(.text)".
				add(member(name[strings.LastIndexByte(name, ' ')+1:]))
			}
		case strings.HasPrefix(line, "Archive member included"):
			inMembers = true
			sc.Scan() // an empty line
		case line == "":
			inMembers = false
		case inMembers && line[0] != ' ':
			// A long name has the line to itself, and its reason is on the next.
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
		return nil, errors.New("not a map of GNU ld or lld, or nothing was linked; build again")
	}
	return objects, nil
}

// member parses "ARCHIVE(NAME)". For members of thin archives, GNU ld writes only the path.
func member(name string) input {
	if archive, rest, ok := strings.Cut(name, "("); ok {
		return input{archive, strings.TrimSuffix(rest, ")")}
	}
	return input{name: name}
}

// isTable reports whether link-vmlinux.sh made an object from an earlier link: kallsyms, or the
// kernel's BTF.
func isTable(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, ".tmp_") || base == ".btf.vmlinux.bin.o"
}
