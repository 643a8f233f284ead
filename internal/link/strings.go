package link

import (
	"bytes"
	"slices"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/types"
)

// sortEarly begins to sort the strings that there are, on a thread that has nothing else to do
// until the types are ordered. Nearly all will be needed.
func (l *linker) sortEarly() {
	if l.jobs == 1 {
		return
	}
	strs := l.g.Strs // as it is: strings that are added later don't touch these
	l.sorting.Go(func() {
		l.early = make([]types.Str, strs.Len()-1)
		for i := range l.early {
			l.early[i] = types.Str(i + 1)
		}
		strs.Sort(l.early, func(parts int, do func(int)) { parallel(1, parts, do) })
	})
}

// findStrings lists the strings that the kept types need, sorted.
func (l *linker) findStrings() {
	l.sorting.Wait()
	uses := l.places.uses
	n := 0
	for _, u := range uses[1:] {
		if u != 0 {
			n++
		}
	}
	var late []types.Str // those that aren't sorted yet: all, or a few that link itself has added
	if len(l.early) == 0 {
		late = make([]types.Str, 0, n)
	}
	for i, u := range uses[len(l.early)+1:] {
		if u != 0 {
			late = append(late, types.Str(len(l.early)+1+i))
		}
	}
	l.g.Strs.Sort(late, func(parts int, do func(int)) { parallel(l.jobs, parts, do) })
	if len(l.early) == 0 {
		l.strs = late
		return
	}
	l.strs = make([]types.Str, 0, n)
	early := l.early
	take := func(n int) {
		for _, s := range early[:n] {
			if uses[s] != 0 {
				l.strs = append(l.strs, s)
			}
		}
		early = early[n:]
	}
	for _, s := range late {
		at, _ := slices.BinarySearchFunc(early, s, func(a, b types.Str) int {
			return bytes.Compare(l.g.Strs.Bytes(a), l.g.Strs.Bytes(b))
		})
		take(at)
		l.strs = append(l.strs, s)
	}
	take(len(early))
}

// placeStrings gives each string its offset: in the bases if they have it, else among the blob's
// own strings, which are sorted.
func (l *linker) placeStrings() {
	l.offset = l.findInBases()
	b := l.blob
	end := uint64(b.BaseStrLen)
	if b.Base == nil {
		end++ // the empty name
	}
	for _, s := range l.strs {
		if l.offset[s] == 0 {
			l.offset[s] = uint32(end)
			end += uint64(len(l.g.Strs.Bytes(s))) + 1
		}
	}
	l.stringsLen = int(end - uint64(b.BaseStrLen))
}

// copyStrings copies those of the strings that are the blob's own to their place. It tells whether
// all names are what the kernel takes.
func (l *linker) copyStrings(own []byte, list []types.Str) bool {
	ok := true
	for _, s := range list {
		name := l.g.Strs.Bytes(s)
		if at := l.offset[s]; at >= l.blob.BaseStrLen {
			copy(own[at-l.blob.BaseStrLen:], name)
		}
		use := l.places.uses[s]
		ok = ok && (use&usedAsIdentifier == 0 || len(name) == 0 || btf.ValidIdentifier(name)) &&
			(use&usedAsSection == 0 || btf.ValidSectionName(name))
	}
	return ok
}

// findInBases returns for each string that is needed its first offset in the bases, 0 for none.
func (l *linker) findInBases() []uint32 {
	found := make([]uint32, l.g.Strs.Len())
	var chain []*btf.Blob
	for b := l.base.blob; b != nil; b = b.Base {
		chain = append([]*btf.Blob{b}, chain...)
	}
	for _, b := range chain {
		s, off := []byte(b.Strings), b.BaseStrLen
		for start := 0; start < len(s); {
			end := start
			for end < len(s) && s[end] != 0 {
				end++
			}
			if str, ok := l.g.Strs.Lookup(s[start:end]); ok && str != 0 && l.places.uses[str] != 0 &&
				found[str] == 0 {
				found[str] = off + uint32(start)
			}
			start = end + 1
		}
	}
	return found
}
