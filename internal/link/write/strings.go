package write

import (
	"bytes"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// SortedStrings are strings that are sorted while the types are still being chosen. Nearly all of
// them will be needed.
type SortedStrings struct {
	wg   parallel.Group
	list []types.Str
}

// SortStrings begins to sort the strings that there are, on its own thread. Strings that are
// added later are none of these.
func SortStrings(strs types.Strings) *SortedStrings {
	s := &SortedStrings{}
	s.wg.Go(func() {
		s.list = make([]types.Str, strs.Len()-1)
		for i := range s.list {
			s.list[i] = types.Str(i + 1)
		}
		strs.Sort(s.list, func(parts int, do func(int)) { parallel.Do(1, parts, do) })
	})
	return s
}

// Wait waits until they are sorted.
func (s *SortedStrings) Wait() []types.Str {
	if s == nil {
		return nil
	}
	s.wg.Wait()
	return s.list
}

// strings are those that the result needs.
type strings struct {
	list   []types.Str // sorted
	offset []uint32    // by string: in the bases, or in the result
	length int         // of the result's own strings, in bytes
}

// findStrings lists the strings that the kept types need, sorted.
func (w *writer) findStrings() {
	early, uses := w.opt.Sorted.Wait(), w.places.uses
	var late []types.Str // those that are not sorted yet: all, or a few that the link has added
	for s := len(early) + 1; s < len(uses); s++ {
		if uses[s] != 0 {
			late = append(late, types.Str(s))
		}
	}
	w.Graph.Strs.Sort(late, func(parts int, do func(int)) { parallel.Do(w.opt.Jobs, parts, do) })
	list := make([]types.Str, 0, len(uses))
	take := func(some []types.Str) {
		for _, s := range some {
			if uses[s] != 0 {
				list = append(list, s)
			}
		}
	}
	for _, s := range late {
		at, _ := slices.BinarySearchFunc(early, w.Graph.Strs.Bytes(s),
			func(a types.Str, b []byte) int { return bytes.Compare(w.Graph.Strs.Bytes(a), b) })
		take(early[:at])
		early = early[at:]
		list = append(list, s)
	}
	take(early)
	w.strings.list = list
}

// placeStrings gives each string its offset: in the bases if they have it, else among the blob's
// own strings, which are sorted.
func (w *writer) placeStrings() {
	s := &w.strings
	s.offset = make([]uint32, w.Graph.Strs.Len())
	end := uint64(w.blob.BaseStrLen)
	if w.Base == nil {
		end++ // the empty name
	}
	for _, str := range s.list {
		name := w.Graph.Strs.Bytes(str)
		if w.Base != nil {
			if s.offset[str] = w.Base.String(name); s.offset[str] != 0 {
				continue
			}
		}
		s.offset[str] = uint32(end)
		end += uint64(len(name)) + 1
	}
	s.length = int(end - uint64(w.blob.BaseStrLen))
}

// copyStrings copies those of the strings that are the blob's own to their place. It reports
// whether all names are what the kernel takes.
func (w *writer) copyStrings(own []byte, list []types.Str) bool {
	ok := true
	for _, s := range list {
		name := w.Graph.Strs.Bytes(s)
		if at := w.strings.offset[s]; at >= w.blob.BaseStrLen {
			copy(own[at-w.blob.BaseStrLen:], name)
		}
		use := w.places.uses[s]
		ok = ok && (use&usedAsIdentifier == 0 || len(name) == 0 || btf.ValidIdentifier(name)) &&
			(use&usedAsSection == 0 || btf.ValidSectionName(name))
	}
	return ok
}
