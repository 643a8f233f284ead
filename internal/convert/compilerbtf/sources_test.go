package compilerbtf

import (
	"slices"
	"testing"
)

// TestInOrder: of two ties that contradict each other, inOrder keeps the one with more votes.
func TestInOrder(t *testing.T) {
	got := inOrder(map[tie]int{
		{blob: 0, group: 1}: 3,
		{blob: 1, group: 3}: 2,
		{blob: 1, group: 0}: 5, // crosses the tie of blob 0, which has fewer votes
		{blob: 2, group: 3}: 1,
		{blob: 3, group: 2}: 1, // crosses the previous tie, which has as many votes
		{blob: 4, group: 9}: 1,
	})
	want := []tie{{1, 0, 5}, {2, 3, 1}, {4, 9, 1}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
