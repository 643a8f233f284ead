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
//  5. changesOf (changes.go, members.go, elements.go) lists what has changed in each pair: struct
//     opts has one more member.
//  6. findCauses (causes.go): struct dev differs only because struct opts does. Such differences
//     are counted, but listed only if Options.Indirect is set.
//
// [Definitions] describes in the same way how types of one blob differ.
package diff

import (
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/dump"
	"github.com/rules-btf/rules_btf/internal/model/refine"
)

// Side is one side of a comparison: a blob with its bases. A side may also be several blobs with
// the same base, such as blobs that a linker has concatenated.
type Side []*btf.Blob

// Options chooses what is compared and listed.
type Options struct {
	// Kinds are the kinds to compare; nil means all. Pointers, arrays, qualifiers, type tags and
	// prototypes are compared as parts of the types that refer to them, and so are anonymous types
	// that a type refers to. Such a type is also compared separately if Kinds has its kind.
	Kinds []btf.Kind
	// Indirect lists types that differ only because types that they refer to differ. Otherwise such
	// types are only counted.
	Indirect bool
	// Names are the types to compare; nil means all. All other types are compared only as parts of
	// these types.
	Names []dump.Name
}

// Compare returns the differences between two sides, the most important ones first (byImportance).
// A type that is in a blob itself on one side can equal a type that is in a base on the other side.
// Rule: diff: which types of two blobs are equal.
func Compare(a, b Side, opts Options) ([]Difference, Summary) {
	c := &comparison{graph: newGraph(a, b), opts: opts, groups: map[key]*group{},
		work: newWork()}
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
	work     work
	// causes, by content: for an Indirect difference, the rank of its cause; for the cause, -rank; 0
	// for others. It is nil unless Indirect differences are listed.
	causes []int32
}

// work limits the work for hostile types, and has what is used again and again.
type work struct {
	fieldsLeft int // how many members appendFields and memberLines may still visit
	spellsLeft int // how many types declarePart may still write

	pairs    map[[2]uint32]bool   // for cleared
	listed   []int32              // by content: the index of its difference plus 1, or 0
	pointers map[*btf.Blob]uint64 // for pointerSize
	sections map[*btf.Blob]map[string]string
}

func newWork() work {
	return work{fieldsLeft: allFields, pointers: map[*btf.Blob]uint64{},
		sections: map[*btf.Blob]map[string]string{}}
}
