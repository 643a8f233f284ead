// Package stats counts the content of a BTF blob and shows what makes the blob large: records by
// kind, strings by what they name (types, members and so on), and the largest types.
package stats

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/object"
)

// Report describes one BTF, without its bases. All sizes are in bytes.
type Report struct {
	Schema  int     `json:"schema"` // the version of the JSON form
	Bytes   uint64  `json:"bytes"`  // header, types, layout section and strings
	Header  uint64  `json:"header"`
	Layout  uint64  `json:"layout"` // the layout section; 0 if there is none
	Types   Types   `json:"types"`
	Strings Strings `json:"strings"`
	// Variables counts the variables that a debugger finds in the BTF.
	Variables Variables `json:"variables"`
	Inline    *Inline   `json:"inline,omitempty"` // nil if the BTF has no LOCSEC
	Base      *Base     `json:"base,omitempty"`   // nil if the BTF isn't split
	Largest   []Record  `json:"largest"`          // the types with the largest records
	// Sections are the DATASECs, ordered by the size of their records, the largest first.
	Sections []Section `json:"sections"`
}

// Types counts the types' records.
type Types struct {
	Total   int    `json:"total"`
	Bytes   uint64 `json:"bytes"`
	FirstID uint32 `json:"first_id"`
	Kinds   []Kind `json:"kinds"` // those that occur, the largest first
}

// Kind counts the records of one kind.
type Kind struct {
	Kind      string `json:"kind"` // as bpftool spells it
	Types     int    `json:"types"`
	Anonymous int    `json:"anonymous"`
	// Elements counts members, enumerators, parameters, variables in sections, values of
	// LOC_PARAMs, or sites.
	Elements uint64 `json:"elements"`
	Bytes    uint64 `json:"bytes"`
}

// Variables counts the VARs.
type Variables struct {
	Total  int `json:"total"`
	PerCPU int `json:"per_cpu"` // those in the section .data..percpu
}

// Strings counts the names, each of which ends with a NUL byte.
type Strings struct {
	Total int     `json:"total"` // including the empty one
	Bytes uint64  `json:"bytes"`
	Users []Users `json:"users"` // the largest first
}

// Users counts the strings that name things of one sort only.
type Users struct {
	Of      string `json:"of"` // such as "functions", or "several of these", or "none"
	Strings int    `json:"strings"`
	Bytes   uint64 `json:"bytes"`
}

// Base describes the base of split BTF, and how much of this base the split BTF uses.
type Base struct {
	Types   uint32 `json:"types"`
	Strings uint32 `json:"strings"` // bytes of strings
	// Refs counts references to types of the base, and OwnRefs counts references to the BTF's own
	// types; void counts as neither. NamesOfBase counts the names of types and elements whose
	// string is in the base, and OwnNames those whose string is in the BTF itself.
	Refs        uint64 `json:"references_to_base"`
	OwnRefs     uint64 `json:"references_to_own"`
	NamesOfBase uint64 `json:"names_of_base"`
	OwnNames    uint64 `json:"names_of_own"`
}

// Record is one type.
type Record struct {
	ID       uint32 `json:"id"`
	Kind     string `json:"kind"`
	Name     string `json:"name"` // "" if anonymous
	Elements uint32 `json:"elements"`
	Bytes    uint64 `json:"bytes"`
}

// Section is a DATASEC.
type Section struct {
	Name      string `json:"name"`
	Variables uint32 `json:"variables"`
	Size      uint32 `json:"size"`  // of the section
	Bytes     uint64 `json:"bytes"` // of the record
}

// Take returns a report on b. It cuts the list Largest to limit types, unless limit is 0.
// Rule: size: what makes BTF large.
func Take(b *btf.Blob, limit int) *Report {
	r := &Report{Schema: 1, Header: uint64(b.Header.HdrLen), Layout: uint64(b.Header.LayoutLen),
		Largest: []Record{}, Sections: []Section{}}
	r.Types = Types{Total: len(b.Types), FirstID: b.StartID}
	var kinds [btf.NumKinds]Kind
	for i := range b.Types {
		t := &b.Types[i]
		elements := uint32(0)
		if t.Kind != btf.KindArray {
			elements = object.Elements(t)
		}
		size := t.Kind.RecordLen(t.Vlen)
		k := &kinds[t.Kind]
		k.Types++
		k.Bytes += size
		k.Elements += uint64(elements)
		if t.NameOff == 0 {
			k.Anonymous++
		}
		r.Types.Bytes += size
		if elements > 0 {
			r.Largest = append(r.Largest, Record{b.StartID + uint32(i), t.Kind.String(), "", elements,
				size})
		}
		switch name := b.TypeName(t); t.Kind {
		case btf.KindVar:
			r.Variables.Total++
		case btf.KindDatasec:
			r.Sections = append(r.Sections, Section{name, t.Vlen, t.SizeOrType, size})
			if name == facts.PerCPUSection {
				r.Variables.PerCPU += int(t.Vlen)
			}
		}
	}
	r.Types.Kinds = occurring(kinds[:])
	r.Inline = countSites(b)
	r.Strings = countStrings(b)
	r.Bytes = r.Header + r.Types.Bytes + r.Layout + r.Strings.Bytes
	if b.Base != nil {
		r.Base = countUses(b)
	}
	slices.SortStableFunc(r.Largest, func(x, y Record) int { return cmp.Compare(y.Bytes, x.Bytes) })
	if limit > 0 {
		r.Largest = r.Largest[:min(limit, len(r.Largest))]
	}
	slices.SortFunc(r.Sections, func(x, y Section) int {
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), strings.Compare(x.Name, y.Name))
	})
	for i := range r.Largest {
		t, _ := b.ByID(r.Largest[i].ID)
		r.Largest[i].Name = b.TypeName(t)
	}
	return r
}

// occurring lists the kinds that occur, ordered by size, the largest first.
func occurring(kinds []Kind) []Kind {
	found := []Kind{}
	for i, k := range kinds {
		if k.Types > 0 {
			k.Kind = btf.Kind(i).String()
			found = append(found, k)
		}
	}
	slices.SortStableFunc(found, func(x, y Kind) int { return cmp.Compare(y.Bytes, x.Bytes) })
	return found
}

// countUses counts how often split BTF uses types and strings of its base, and how often it uses
// its own.
func countUses(b *btf.Blob) *Base {
	base := &Base{Types: b.StartID - 1, Strings: b.BaseStrLen}
	for i := range b.Types {
		for ref := range b.Refs(&b.Types[i]) {
			switch {
			case *ref >= b.StartID:
				base.OwnRefs++
			case *ref != 0:
				base.Refs++
			}
		}
	}
	eachName(b, func(_ user, off uint32) {
		if off < b.BaseStrLen {
			base.NamesOfBase++
		} else {
			base.OwnNames++
		}
	})
	return base
}
