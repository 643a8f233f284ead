package splitdwarf

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/debugfile"
)

func (x *Finder) files() *debugfile.Search {
	if x.Files == nil {
		return &debugfile.Search{}
	}
	return x.Files
}

// named returns the files in Files.Named that have the same base name as path. Files whose paths
// have the longest suffix in common with path come first.
func (x *Finder) named(path string) []string {
	x.listing.Do(func() {
		x.listed = make(map[string][]string, len(x.Files.Named))
		for _, path := range x.Files.Named {
			name := filepath.Base(path)
			x.listed[name] = append(x.listed[name], path)
		}
	})
	path = filepath.Clean(path)
	list := slices.Clone(x.listed[filepath.Base(path)])
	slices.SortStableFunc(list, func(a, b string) int {
		return cmp.Compare(sameEnd(b, path), sameEnd(a, path))
	})
	return list
}

// sameEnd returns the length, in bytes, of the longest common suffix of two paths.
func sameEnd(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
