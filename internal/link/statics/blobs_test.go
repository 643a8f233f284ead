package statics

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// withBTF compiles the sources of objects again, with BTF instead of DWARF.
func (w workspace) withBTF(objects []string) (compiled []string) {
	w.Helper()
	for _, name := range objects {
		source := strings.TrimSuffix(name, ".o")
		compiled = append(compiled, source+".b.o")
		w.Run("gcc", "-O2", "-gbtf", "-c", "-ffreestanding", "-fno-pic", "-o", source+".b.o",
			source+".c")
	}
	return compiled
}

// TestCompilerBTF is TestLikeFiles for BTF that gcc wrote. The DWARF of the same sources is the
// oracle.
func TestCompilerBTF(t *testing.T) {
	programtest.NeedGCC16(t)
	for _, program := range likeFiles {
		t.Run(program.name, func(t *testing.T) {
			w := newWorkspace(t)
			objects := w.Compile("gcc -O2", program.sources)
			w.Write("asm.s", ".file \"asm.s\"\nlocal: nop\n")
			w.Run("gcc", "-c", "-o", "asm.o", "asm.s")
			for _, order := range []string{"forth", "back"} {
				linked := w.Link(order, objects...)
				compiled := w.withBTF(objects)
				btf := w.Link(order+".btf", append([]string{"asm.o"}, compiled...)...)
				res := w.Roads(btf, compiled...)
				if got, want := w.Variables(res.Blob), w.Oracle(linked); !maps.Equal(got, want) {
					t.Errorf("%s: variables %v, want %v", order, got, want)
				}
				if got := skipped(res); got != "" {
					t.Errorf("%s: skipped %s", order, got)
				}
				w.Run("ld", append([]string{"-r", "-o", "mod.ko"}, compiled...)...)
				w.Roads("mod.ko", compiled...)
				slices.Reverse(objects)
			}
		})
	}
}

// TestMixed tests a file that was linked from objects with DWARF and objects with BTF. The names of
// other static symbols show which blob belongs to which source.
func TestMixed(t *testing.T) {
	programtest.NeedGCC16(t)
	w := newWorkspace(t)
	sources := map[string]string{}
	for name, text := range likeFiles[0].sources {
		sources[name] = text + " __attribute__((noinline, used)) static void only_" + name[:2] +
			"(void) {}"
	}
	objects := w.Compile("gcc -O2", sources)
	mixed := w.withBTF(objects)
	mixed[1] = objects[1]
	var parts []*object.Object
	for _, name := range mixed {
		parts = append(parts, w.Convert(name))
	}
	known := w.Facts(w.Link("mixed", mixed...))
	for _, o := range known.Vars {
		if o.Definition == (types.Hash{}) {
			t.Errorf("no definition is known for %+v", o)
		}
	}
	res := w.LinkBTF(link.Options{Facts: known}, nil, parts...)
	want := w.Oracle(w.Link("linked", objects...))
	if got := w.Variables(res.Blob); !maps.Equal(got, want) || len(want) != 3 {
		t.Errorf("variables %v, want %v", got, want)
	}
}

// TestLinkedBTF: BTF that is already linked identifies nothing, but isn't an error.
func TestLinkedBTF(t *testing.T) {
	w := newWorkspace(t)
	objects := w.Compile("gcc -O2", likeFiles[0].sources)
	linked := w.Link("linked", objects...)
	w.Write("btf", string(w.Roads(linked, objects...).BTF))
	w.Run("objcopy", "--strip-debug", "--keep-file-symbols", linked, "stripped")
	before := w.Facts("stripped")
	w.Run("objcopy", "--add-section", ".BTF=btf", "stripped", "with.btf")
	if !slices.Equal(w.Facts("with.btf").Vars, before.Vars) {
		t.Errorf("facts %v, without .BTF %v", w.Facts("with.btf").Vars, before.Vars)
	}
}
