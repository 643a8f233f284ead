package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Class is a class of differences.
type Class string

const (
	OnlyA    Class = "only in A"
	OnlyB    Class = "only in B"
	Differs  Class = "differs"
	Forward  Class = "forward"  // one side only declares what the other defines
	Indirect Class = "indirect" // it differs only because types to which it refers differ
)

// Difference is a type that only one side has, or a pair of types with the same kind and name whose
// contents differ.
type Difference struct {
	Class Class  `json:"class"`
	Kind  string `json:"kind"`           // "struct", …: the kind's name in lower case
	Type  string `json:"type"`           // "struct foo", `decl_tag "kfunc" on func foo`
	Note  string `json:"note,omitempty"` // why a type is only on one side, if that isn't obvious
	// Compatible says that no change breaks code that was compiled for A and that uses only what A
	// has. A type that only B has is compatible, a type that only A has is not.
	Compatible bool     `json:"compatible"`
	Changes    []Change `json:"changes"` // in the order of the members, parameters, …
	// Because is the Type of the difference that causes an Indirect difference. It is "" for other
	// classes, and if the cause was not compared.
	Because string `json:"because,omitempty"`
	// FollowUps counts the Indirect differences with this one as Because.
	FollowUps int `json:"follow_ups"`

	// Only package kabi sets these fields.
	Path    string `json:"path,omitempty"`    // the shortest way from a symbol to the type
	Symbols int    `json:"symbols,omitempty"` // how many symbols reach the type
	Allowed string `json:"allowed,omitempty"` // why incompatible changes are allowed

	c    *comparison
	pair [2]uint32 // the nodes in A and B, or noPartner
}

// IDs returns the ids of the type in A and B, or 0 for a side that lacks it.
func (d *Difference) IDs() [2]uint32 { return d.c.ids(d.pair) }

// String is the difference as one line with its first change: "differs: struct foo: member bar.baz:
// type u32 vs u64 (size 4 vs 8), and 2 more changes".
func (d Difference) String() string {
	where, what, more := firstChange(d.Changes, [2]string{"A", "B"})
	if more > 0 {
		what += fmt.Sprintf(", and %s", message.Count(more, "more change"))
	}
	if d.Note != "" {
		what = d.Note
	}
	parts := []string{string(d.Class), d.Type, where, what}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ": ")
}

// firstChange describes the first of some changes. If the size of the type changes too, it adds
// the sizes. The result more says how many other changes there are. The parameter names has the
// names of the two sides.
func firstChange(changes []Change, names [2]string) (where, what string, more int) {
	if len(changes) == 0 {
		return "", "", 0
	}
	first, more := changes[0], len(changes)-1
	what = first.what(names)
	if i := slices.IndexFunc(changes, func(c Change) bool { return c.Kind == Size }); i > 0 {
		what += " (" + changes[i].what(names) + ")"
		more--
	}
	return first.Where, what, more
}

// ChangeKind is what happens to a part of a type.
type ChangeKind string

const (
	Added     ChangeKind = "added"
	Removed   ChangeKind = "removed"
	Moved     ChangeKind = "moved"     // a different offset, or into or out of an anonymous type
	Resized   ChangeKind = "resized"   // a member's or variable's size, or the bits of a bitfield
	Retyped   ChangeKind = "retyped"   // a different type
	Renamed   ChangeKind = "renamed"   // the same type in the same place, with a different name
	Value     ChangeKind = "value"     // of an enumerator
	Size      ChangeKind = "size"      // of the type itself
	Linkage   ChangeKind = "linkage"   // of a function or variable
	Section   ChangeKind = "section"   // a variable is in a different section
	Encoding  ChangeKind = "encoding"  // how the bits of a number are read
	Reordered ChangeKind = "reordered" // the same elements in a different order
	Declared  ChangeKind = "declared"  // one side only declares a type that the other defines
	Other     ChangeKind = "other"     // all else: the text says what
)

// Change is one change of a part of a type.
// Rule: diff: changes that break code. Where a change is made, it says so.
type Change struct {
	Kind  ChangeKind `json:"kind"`
	Where string     `json:"where,omitempty"` // "member bar.baz"; "" for the type itself
	// Before and After are the part in A and B; nil if the part is missing there.
	Before *State `json:"before,omitempty"`
	After  *State `json:"after,omitempty"`
	// Breaks says that the change breaks code that was compiled for A.
	Breaks bool `json:"breaks"`
	// Reason says why it does or doesn't; only package kabi sets it.
	Reason string `json:"reason,omitempty"`
	Part   Part   `json:"-"`
}

// Part is the part of a type that has changed. All ids are 0 if a side lacks the part. They are
// unique only if each side is a single blob without a base.
type Part struct {
	In    [2]uint32 // the ids of the struct, union, enum, prototype, … that has the part
	Types [2]uint32 // the ids of the part's type: what is declared, such as a pointer
	Names [2]string // the names of a member, enumerator or parameter
}

// State is a part of a type as it is on one side.
type State struct {
	// Text depends on the kind of the change: the declaration of a member or parameter that is added
	// or removed ("int x"), a type, a name, an offset ("8", "8:3" for bit 3 in byte 8), a number.
	Text   string `json:"text"`
	*Place        // of members and entries of sections
}

// Place is where a member is. Offsets count from the start of the struct or union that contains it.
// An anonymous member isn't such a struct: its members count as those of the type that contains it.
type Place struct {
	BitOffset uint64 `json:"bit_offset"`
	Bytes     uint64 `json:"bytes"`          // the size of the member's type; 0 if it is unknown
	Bits      uint32 `json:"bits,omitempty"` // the size of a bitfield
}

// at is the offset of a place in bytes, and the bit in that byte for bits that don't begin there.
func (p Place) at() string {
	if p.BitOffset%8 != 0 || p.Bits != 0 {
		return fmt.Sprintf("%d:%d", p.BitOffset/8, p.BitOffset%8)
	}
	return fmt.Sprint(p.BitOffset / 8)
}

// nouns are the words before the two texts of a change of each kind.
var nouns = map[ChangeKind]string{Moved: "offset", Retyped: "type", Declared: "type",
	Renamed: "name", Resized: "size"}

// what describes a change: "type u32 vs u64".
func (c Change) what(names [2]string) string {
	switch c.Kind {
	case Added:
		return "only in " + names[1]
	case Removed:
		return "only in " + names[0]
	case Value:
		return c.Before.Text + " vs " + c.After.Text
	case Reordered, Other:
		return c.Before.Text
	}
	return fmt.Sprintf("%s %s vs %s", c.Noun(), c.Before.Text, c.After.Text)
}

// Noun is the word before the texts of Before and After: "type", "offset" …
func (c Change) Noun() string { return cmp.Or(nouns[c.Kind], string(c.Kind)) }
