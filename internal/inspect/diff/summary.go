package diff

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

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

	Kinds []KindSummary `json:"kinds"` // the kinds of which a type differs, in the order of BTF
}

// KindSummary counts the differences of one kind of types.
type KindSummary struct {
	Kind       string `json:"kind"`
	OnlyA      int    `json:"only_a"`
	OnlyB      int    `json:"only_b"`
	Changed    int    `json:"changed"`    // not counting Indirect
	Compatible int    `json:"compatible"` // of Changed
	Indirect   int    `json:"indirect"`
}

// Same reports whether nothing differs.
func (s Summary) Same() bool { return s.OnlyA+s.OnlyB+s.Differs+s.Forward+s.Indirect == 0 }

func (s *Summary) count(d *Difference, k *KindSummary) {
	declared := d.Class == Forward && len(d.Changes) == 0
	switch {
	case d.Class == OnlyA, declared && d.pair[1] == noPartner:
		k.OnlyA++
	case d.Class == OnlyB, declared:
		k.OnlyB++
	case d.Class == Indirect:
		k.Indirect++
	default:
		k.Changed++
		if d.Compatible {
			k.Compatible++
		}
	}
	*map[Class]*int{OnlyA: &s.OnlyA, OnlyB: &s.OnlyB, Differs: &s.Differs, Forward: &s.Forward,
		Indirect: &s.Indirect}[d.Class]++
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
