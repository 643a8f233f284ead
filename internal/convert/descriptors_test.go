package convert

import (
	"slices"
	"testing"
)

// TestDescriptors reads files in which the symbols of functions point to descriptors (ppc64, ABI
// version 1). The result must still show which definition the link kept, and which function is a
// clone.
func TestDescriptors(t *testing.T) {
	const dir = "testdata/objects/"
	r := twoRoads(t, "default", dir+"descriptors.elf", dir+"descriptors1.o", dir+"descriptors2.o")
	want := []string{
		"int lost(int strong_name);", "int setup(struct early *p);", "int user(int *p, int n);",
		"long int helper(struct early *p, int n);", "struct early { int e @0; } 4",
	}
	if got := dump(t, r.BTF, false); !slices.Equal(got, want) {
		t.Errorf("BTF is (-want +got)\n%s", diff(got, want))
	}
	if got, want := skippedLines(r), []string{"cloned: optimized parameters"}; !slices.Equal(got,
		want) {
		t.Errorf("skipped %q, want %q", got, want)
	}
}
