package kbuild

import (
	"bufio"
	"errors"
	"io"
	"path"
	"strings"
)

// LinkedObjects reads a map file of GNU ld or of lld. It returns the object files that were linked,
// in order: first members of thin archives, then files that the command line named; in lld's map by
// their first sections. It leaves out the tables that link-vmlinux.sh makes from an earlier link
// (.tmp_vmlinux*), which have no types.
func LinkedObjects(r io.Reader) ([]string, error) {
	var objects []string
	seen := map[string]bool{}
	add := func(name string) {
		if strings.HasSuffix(name, ".o") && !strings.HasPrefix(path.Base(name), ".tmp_vmlinux") &&
			!seen[name] {
			seen[name] = true
			objects = append(objects, name)
		}
	}
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20)
	inMembers, lld := false, false
	for sc.Scan() {
		line := sc.Text()
		switch {
		case strings.HasSuffix(line, "Align Out     In      Symbol"):
			lld = true
		case lld:
			if name, ok := lldInput(line); ok {
				add(name)
			}
		case strings.HasPrefix(line, "Archive member included"):
			inMembers = true
			sc.Scan() // an empty line
		case line == "":
			inMembers = false
		case inMembers && line[0] != ' ':
			// A long name has the line to itself, and its reason is on the next.
			name, _, _ := strings.Cut(line, " ")
			add(name)
		case strings.HasPrefix(line, "LOAD "):
			add(strings.TrimPrefix(line, "LOAD "))
		}
	}
	if err := sc.Err(); err != nil {
		return nil, err
	}
	if len(objects) == 0 {
		return nil, errors.New("not a map of GNU ld or lld, or nothing was linked")
	}
	return objects, nil
}

// lldInput returns the object file of a line of lld's map, such as "ffffffff81000000 1000000 1b0 16
// vmlinux.a(init/main.o):(.text)".
func lldInput(line string) (string, bool) {
	name, _, ok := strings.Cut(line, ":(")
	if !ok {
		return "", false
	}
	name = name[strings.LastIndexByte(name, ' ')+1:]
	if _, member, ok := strings.Cut(name, "("); ok {
		name = strings.TrimSuffix(member, ")")
	}
	return name, true
}
