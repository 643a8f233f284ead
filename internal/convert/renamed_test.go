package convert

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestRenamedSymbols links code after objcopy has added a prefix to its symbols, as arm64 and x86
// kernels do for code that runs before or beside the kernel. The functions in that code aren't the
// functions with the same names in the rest of the kernel, but the BTF has the types of both.
func TestRenamedSymbols(t *testing.T) {
	const early = `
		struct early { int e; };
		static __attribute__((noipa, used)) int helper(struct early *p) { return p->e; }
		__attribute__((VISIBILITY)) int setup(struct early *p) { return helper(p); }
		__attribute__((VISIBILITY)) int only_early(struct early *p) { return setup(p) + 1; }`
	const rest = `
		struct late { long l; };
		static __attribute__((noipa, used)) long helper(struct late *p, int n) { return p->l + n; }
		int setup(struct late *p) { return helper(p, 1); }`
	for _, visibility := range []string{"", `visibility("hidden")`} {
		t.Run(visibility, func(t *testing.T) {
			dir := t.TempDir()
			object := func(name, text string) string {
				t.Helper()
				source, out := filepath.Join(dir, name+".c"), filepath.Join(dir, name+".o")
				must.OK(t, os.WriteFile(source, []byte(text), 0o666))
				programtest.Run(t, dir, "gcc", "-std=gnu17", "-w", "-fpic", "-g", "-O2",
					"-DVISIBILITY="+visibility, "-c", "-o", out, source)
				return out
			}
			first, second, linked := object("early", early), object("rest", rest), filepath.Join(dir,
				"linked")
			programtest.Run(t, dir, "objcopy", "--prefix-symbols=__early_", first)
			// arm64's kernel is linked like this, which makes hidden symbols local.
			programtest.Run(t, dir, "ld", "-shared", "-Bsymbolic", "-o", linked, first, second)
			r := twoRoads(t, "default", linked, first, second)
			want := []string{
				"int setup(struct late *p);", "long int helper(struct late *p, int n);",
				"struct early { int e @0; } 4", "struct late { long int l @0; } 8",
			}
			if got := dump(t, r.BTF, false); !slices.Equal(got, want) {
				t.Errorf("BTF is (-want +got)\n%s", diff(got, want))
			}

			// If none of the renamed code is linked, its types aren't in the BTF either.
			alone := filepath.Join(dir, "alone")
			programtest.Run(t, dir, "ld", "-shared", "-Bsymbolic", "-o", alone, second)
			without := linkTo(t, alone, parseFeatures(t, "default"),
				convertFile(t, first, Options{Features: parseFeatures(t, "default")}), convertFile(t, second,
					Options{Features: parseFeatures(t, "default")}))
			want = slices.Delete(want, 2, 3)
			if got := dump(t, without.BTF, false); !slices.Equal(got, want) {
				t.Errorf("without the renamed code, BTF is (-want +got)\n%s", diff(got, want))
			}
		})
	}
}
