package locsec

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// Join returns one BTF with the types of split BTF and of its base. Anonymous types come first,
// then named types by name. Of types with the same name, those of the base come first.
func Join(split *btf.Blob) *btf.Blob {
	base := split.Base
	j := joiner{split: split, to: &btf.Blob{Order: base.Order, Base: base.Base,
		StartID: base.StartID, BaseStrLen: base.BaseStrLen}}
	j.addStrings()
	j.chooseIDs()
	for _, t := range j.list {
		j.to.Copy(t.in, &t.in.Types[t.at], j.name, j.ref)
	}
	j.to.SortSites()
	return j.to
}

type joiner struct {
	split, to *btf.Blob
	list      []joined          // in order
	ids       []uint32          // by id - to.StartID: the new id
	strings   map[string]uint32 // the offsets of the strings of both blobs
}

type joined struct {
	in   *btf.Blob
	at   int // index in in.Types
	name string
}

func (j *joiner) blobs() []*btf.Blob { return []*btf.Blob{j.split.Base, j.split} }

func (j *joiner) addStrings() {
	j.strings = map[string]uint32{}
	var list []string
	for _, b := range j.blobs() {
		for s := range strings.SplitSeq(strings.TrimSuffix(b.Strings, "\x00"), "\x00") {
			if _, ok := j.strings[s]; !ok {
				j.strings[s] = 0
				list = append(list, s)
			}
		}
	}
	slices.Sort(list)
	var out strings.Builder
	for _, s := range list {
		if s == "" && j.to.Base != nil {
			continue // it is in the base
		}
		j.strings[s] = j.to.BaseStrLen + uint32(out.Len())
		out.WriteString(s + "\x00")
	}
	j.to.Strings = out.String()
}

// name returns the new offset of a string.
func (j *joiner) name(off uint32) uint32 {
	if off < j.to.BaseStrLen {
		return off
	}
	s, _ := j.split.Name(off)
	return j.strings[s]
}

func (j *joiner) chooseIDs() {
	for _, b := range j.blobs() {
		for i := range b.Types {
			j.list = append(j.list, joined{b, i, b.TypeName(&b.Types[i])})
		}
	}
	slices.SortStableFunc(j.list, func(x, y joined) int { return cmp.Compare(x.name, y.name) })
	j.ids = make([]uint32, len(j.list))
	for i, t := range j.list {
		j.ids[t.in.StartID+uint32(t.at)-j.to.StartID] = j.to.StartID + uint32(i)
	}
}

// ref returns the new id of a type.
func (j *joiner) ref(id uint32) uint32 {
	if id < j.to.StartID {
		return id
	}
	return j.ids[id-j.to.StartID]
}
