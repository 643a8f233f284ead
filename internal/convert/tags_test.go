package convert

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestTagsOfSeveralUnits converts units whose types differ only in their annotations, both alone
// and linked together. A file with one unit is converted without fingerprints, so the objects show
// what the linked file must contain. In the linked file, the types of unit 3 are known from unit 1,
// but some types of unit 2 are not.
func TestTagsOfSeveralUnits(t *testing.T) {
	programtest.Need(t, "ld")
	const dir = "testdata/objects/"
	objs := []string{dir + "tags1-clang.o", dir + "tags2-clang.o", dir + "tags3-clang.o"}
	joined := filepath.Join(t.TempDir(), "joined.o") // strings in it are compared by content
	programtest.Run(t, ".", "ld", append([]string{"-r", "-o", joined}, objs...)...)
	opt := Options{Features: features.Default(), Jobs: 1}
	for _, linked := range []string{dir + "tags-4-clang.elf", dir + "tags-5-clang.elf"} {
		compareWithFile(t, dir+"tags-clang.txt", twoRoads(t, "default", linked, objs...))
		twoRoads(t, "default", linked, joined)
	}
	for _, together := range []string{dir + "tags-4-clang.elf", dir + "tags-5-clang.elf", joined} {
		o := convertFile(t, together, opt)
		for i := range objs {
			got, want := declTags(o, i), declTags(convertFile(t, objs[i], opt), 0)
			if !slices.Equal(got, want) || len(want) < 10 {
				t.Errorf("%s: unit %d has the declaration tags\n%q, alone\n%q", together, i+1, got,
					want)
			}
		}
	}
}

// declTags lists the declaration tags that a unit of an object holds.
func declTags(o *object.Object, unit int) (list []string) {
	for _, id := range o.Units[unit].Items {
		if n := o.Graph.Node(id); n.Kind == types.KindDeclTag {
			target := o.Graph.Name(o.Graph.Node(n.Ref))
			list = append(list, fmt.Sprintf("%s.%d: %s", target, int(n.Aux)-1, o.Graph.Name(n)))
		}
	}
	slices.Sort(list)
	return list
}
