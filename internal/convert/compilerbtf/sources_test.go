package compilerbtf

import (
	"slices"
	"testing"
)

// TestInOrder: of ties that contradict each other the one with more votes holds.
func TestInOrder(t *testing.T) {
	got := inOrder(map[tie]int{
		{blob: 0, group: 1}: 3,
		{blob: 1, group: 3}: 2,
		{blob: 1, group: 0}: 5, // before that of blob 0, which comes later with 3
		{blob: 2, group: 3}: 1,
		{blob: 3, group: 2}: 1, // crosses the one before it, of as many votes
		{blob: 4, group: 9}: 1,
	})
	want := []tie{{1, 0, 5}, {2, 3, 1}, {4, 9, 1}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
