// Package diff compares the content of BTF blobs. Type ids and the order of types don't matter.
//
// As an example, compare two builds of one kernel, A and B. In B, struct opts has one more member:
//
//	A                                     B
//	[1] INT int                           [1] STRUCT dev {[2]}
//	[2] STRUCT opts {[1]}                 [2] PTR to [3]
//	[3] PTR to [2]                        [3] STRUCT opts {[4], [4]}
//	[4] STRUCT dev {[3]}                  [4] INT int
//
// The ids don't matter, and struct dev differs only because struct opts does. [Compare] makes these
// passes:
//
//  1. add (graph.go): the types of both sides become nodes of one graph. Types whose records differ
//     only in references get the same label: both INT int, both PTR, both struct dev.
//  2. refine.Classes finds nodes with equal content, even in cycles: here, both INT int.
//  3. collect (groups.go) groups definitions that have the same kind and name: both struct opts,
//     both struct dev. In each group, the contents of the two sides are compared as sets.
//  4. pair (pair.go) pairs contents that only A has with the most similar contents that only B has.
//  5. explainGroup (groups.go, explain.go, record.go, layout.go) describes the first difference of
//     each pair (typetext.go): struct opts has one more member. struct dev differs only because of
//     struct opts: such differences are counted, but listed only if Options.Indirect is set.
//
// [Definitions] describes in the same way how types of one blob differ.
package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/refine"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Side is one side of a comparison: a blob with its bases. A side may also be several blobs with
// the same base, such as blobs that a linker has concatenated.
type Side []*btf.Blob

// Options chooses what is compared and listed.
type Options struct {
	// Kinds are the kinds to compare; nil means all. Pointers, arrays, qualifiers, type tags and
	// prototypes are compared as parts of the types that refer to them, and so are anonymous types
	// that a type refers to. Such a type is also compared by itself if Kinds has its kind.
	Kinds []btf.Kind
	// OwnOnly leaves out the types in the bases. Otherwise, a type that is in the blob itself on one
	// side can equal a type that is in a base on the other side.
	OwnOnly bool
	// Indirect lists types that differ only because types that they refer to differ. Otherwise such
	// types are only counted.
	Indirect bool
}

// Class is a class of differences.
type Class string

const (
	OnlyA    Class = "only in A"
	OnlyB    Class = "only in B"
	Differs  Class = "differs"
	Forward  Class = "forward"  // one side only declares what the other defines
	Indirect Class = "indirect" // only types to which the type refers differ
)

// Difference is one difference.
type Difference struct {
	Class Class  `json:"class"`
	Kind  string `json:"kind"`            // "struct", …: the kind's name in lower case
	Type  string `json:"type"`            // "struct foo", `decl_tag "kfunc" on func foo`
	Where string `json:"where,omitempty"` // "member bar.baz"; "" for the type itself
	What  string `json:"what,omitempty"`  // "type u32 vs u64"
}

// String is the difference as one line: "differs: struct foo: member bar.baz: type u32 vs u64".
func (d Difference) String() string {
	parts := []string{string(d.Class), d.Type, d.Where, d.What}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ": ")
}

// Summary has the counts of a comparison.
type Summary struct {
	TypesA int `json:"types_a"` // types of A's blobs, without bases
	TypesB int `json:"types_b"`
	Equal  int `json:"equal"` // distinct contents of compared types that both sides have

	// Differences by class.
	OnlyA    int `json:"only_a"`
	OnlyB    int `json:"only_b"`
	Differs  int `json:"differs"`
	Forward  int `json:"forward"`
	Indirect int `json:"indirect"` // whether listed or not

	// These count types that have the same content as an earlier type on the same side. Such types
	// are not differences.
	DuplicatesA int `json:"duplicates_a"`
	DuplicatesB int `json:"duplicates_b"`
}

// Same reports whether nothing differs.
func (s Summary) Same() bool { return s.OnlyA+s.OnlyB+s.Differs+s.Forward+s.Indirect == 0 }

func (s *Summary) count(class Class) *int {
	return map[Class]*int{OnlyA: &s.OnlyA, OnlyB: &s.OnlyB, Differs: &s.Differs, Forward: &s.Forward,
		Indirect: &s.Indirect}[class]
}

// String is the summary as one line.
func (s Summary) String() string {
	if s.Same() {
		return fmt.Sprintf("equal: %s compared (%d in A, %d in B)", message.Count(s.Equal, "type"),
			s.TypesA, s.TypesB)
	}
	return fmt.Sprintf("%d equal, %d only in A, %d only in B, %d differ, %s, "+
		"%d differ only because of those (%s in A, %d in B)",
		s.Equal, s.OnlyA, s.OnlyB, s.Differs, message.Count(s.Forward, "forward declaration"),
		s.Indirect, message.Count(s.TypesA, "type"), s.TypesB)
}

// Compare returns the differences between two sides, sorted by Class, Type, Where and What.
func Compare(a, b Side, opts Options) ([]Difference, Summary) {
	c := &comparison{graph: newGraph(a, b), opts: opts, groups: map[key]*group{}}
	sides := [2][]placedBlob{c.add(a), c.add(b)}
	c.content, c.contents = refine.Classes(c.label, c.first, c.kids)
	for i, s := range [2]Side{a, b} {
		c.collect(i, len(s), sides[i])
	}
	return c.report()
}

type comparison struct {
	*graph
	opts     Options
	content  []uint32 // by node: the number of its content; nodes of equal content share it
	contents int      // how many distinct contents there are
	groups   map[key]*group
	has      [2][]place // by content: where a side has it
	order    []*group   // the groups in the order in which they were found
	summary  Summary
}
