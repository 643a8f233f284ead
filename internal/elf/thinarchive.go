package elf

import (
	"fmt"
	"path/filepath"
	"slices"
)

// Bounds for thin archives that name each other.
const (
	maxArchiveDepth   = 16
	maxArchiveMembers = 1 << 20
)

// openArchive lists the members of the archive at path. Where a thin archive names another archive,
// that one's members are listed in its place. outer are the archives that led to this one,
// outermost first, and left is how many more members may be listed.
func openArchive(path string, outer []string, left *int) ([]member, error) {
	clean := filepath.Clean(path)
	if slices.Contains(outer, clean) {
		return nil, fmt.Errorf("%s: thin archive that contains itself", path)
	}
	if len(outer) >= maxArchiveDepth {
		return nil, fmt.Errorf("%s: thin archives nested more than %d deep", path, maxArchiveDepth)
	}
	m, err := mapFile(path)
	if err != nil {
		return nil, err
	}
	defer m.close()
	members, thin, err := parseArchive(path, m.data, left)
	if err != nil || !thin {
		return members, err
	}
	return expandThin(path, members, append(outer, clean), left)
}

// expandThin returns the members of the thin archive at path, with the members of archives in place
// of these.
func expandThin(path string, members []member, outer []string, left *int) ([]member, error) {
	nested := map[string][]member{}
	open := func(path2 string) ([]member, error) {
		if n, ok := nested[path2]; ok {
			return n, nil
		}
		n, err := openArchive(path2, outer, left)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		nested[path2] = n
		return n, nil
	}
	out := make([]member, 0, len(members))
	for _, m := range members {
		if m.offset == 0 {
			magic, err := readMagic(m.path)
			if err != nil || !isArchiveMagic(magic) { // Open reports a file that is missing
				out = append(out, m)
				continue
			}
		}
		inner, err := open(m.path)
		if err != nil {
			return nil, err
		}
		if m.offset != 0 { // GNU ar names a member of the nested archive by its header's offset
			i := slices.IndexFunc(inner, func(x member) bool { return x.header == m.offset })
			if i < 0 {
				return nil, fmt.Errorf("%s: no member of %s starts at byte %d; make the archive again",
					path, m.path, m.offset)
			}
			inner = inner[i : i+1]
		} else if *left -= len(inner); *left < 0 {
			return nil, tooManyMembers(path)
		}
		for _, x := range inner {
			x.header = m.header
			x.Label = path + "(" + x.Label + ")"
			out = append(out, x)
		}
	}
	return out, nil
}

func tooManyMembers(path string) error {
	return fmt.Errorf("%s: more than %d archive members", path, maxArchiveMembers)
}
