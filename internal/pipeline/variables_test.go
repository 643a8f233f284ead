package pipeline

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/compiledtest"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// kernel is the source of a program with variables in several sections. Its two files have the same
// base name; their static variables have the same names, but differ in type, section, or both.
var kernel = map[string]string{
	"a/core.c": `
		struct shared { int a; struct inner *p; };
		struct only { struct shared *s; };
		static PERCPU int state;
		static PERCPU int mixed;
		static long twice = 1;
		static struct { long x; int y; } nameless = { 1, 2 };
		const struct shared table[2] = { { 1, 0 } };
		int zero MARK;
		PERCPU long counter;
		long f(struct shared *p) {
			static int inside = 4;
			inside += p->a;
			return state + mixed++ + twice++ + nameless.x++ + nameless.y + inside;
		}`,
	"b/core.c": `
		struct inner { char c; };
		union either { int i; struct inner *p; };
		struct marked { int m MARK; };
		static PERCPU long state;
		static float mixed = 1;
		static char twice[8] = "seven";
		static union either *either[3];
		long g(struct inner *p, struct marked *m) {
			either[p->c]++;
			return state++ + mixed++ + twice[p->c]++ + (long)either[p->c] + m->m;
		}`,
}

// unlinked is like a member of an archive that isn't linked, because nothing needs it.
var unlinked = map[string]string{"lib.c": `struct unused { int u; }; struct unused unused = { 1 };`}

// ofModule is the source of a module for the kernel above. Both define the same struct shared.
var ofModule = map[string]string{
	"mod/mod.c": `
		struct shared { int a; struct inner *p; };
		struct own { struct shared s; struct own *next; };
		static PERCPU struct own *current;
		static struct own owns[2];
		static struct { struct own *first; } list = { owns };
		extern struct shared *shared_of_other_module;
		const struct shared constant = { 3, 0 };
		struct own *h(int i) { return i ? list.first++ : owns[i].s.a ? current++ : 0; }`,
}

// workspace is a directory with the files that a test makes.
type workspace struct{ compiledtest.Dir }

func newWorkspace(t *testing.T) workspace {
	return workspace{compiledtest.Dir{
		Dir: programtest.NewDir(t), Features: features.Default(), ToObject: convert.File,
		ToFacts: func(f *elf.File, opt facts.Options) (*facts.Facts, error) {
			return Facts(f, opt, nil)
		},
	}}
}

// input is what a link reads.
type input struct {
	workspace
	facts   *facts.Facts
	objects []*object.Object
}

func (w workspace) inputs(set features.Set, linked string, objects ...string) input {
	w.Helper()
	w.Features = set
	known, parts := w.Inputs(linked, objects...)
	return input{w, known, parts}
}

func (w workspace) text(f *facts.Facts) string {
	w.Helper()
	var b strings.Builder
	if err := f.Write(&b); err != nil {
		w.Fatal(err)
	}
	return b.String()
}

// link links the input; the parameter on is the base, or nil. It verifies the result.
func (in input) link(which link.Which, on *btf.Blob) compiledtest.Result {
	in.Helper()
	res := in.LinkBTF(link.Options{Facts: in.facts, Variables: which}, on, in.objects...)
	for _, problem := range verify.Check(res.Blob, verify.Options{}) {
		in.Errorf("variables %v: %v", which, problem)
	}
	return res
}

// checkParts links the objects with each link.Which, based on the parameter on, and returns the
// extra part. The parameter linked is the file that ld made from the objects.
func (w workspace) checkParts(linked string, on *btf.Blob, objects ...string) *btf.Blob {
	w.Helper()
	plain := w.inputs(features.Default(), linked, objects...)
	full := w.inputs(features.Default().With(features.GlobalVar), linked, objects...)
	if got, want := w.text(full.facts.PerCPU()), w.text(plain.facts); got != want {
		w.Errorf("%s: facts of per-CPU variables\n%s\nwant\n%s", linked, got, want)
	}
	want, perCPU := plain.link(0, on), full.link(link.PerCPU, on)
	if !bytes.Equal(perCPU.BTF, want.BTF) || !slices.Equal(perCPU.Skipped, want.Skipped) {
		w.Errorf("%s: the per-CPU variables of objects with all variables give different BTF: "+
			"skipped %v, want %v", linked, perCPU.Skipped, want.Skipped)
	}
	all := full.link(link.All, on)
	if !bytes.Equal(all.BTF, full.link(0, on).BTF) {
		w.Errorf("%s: the BTF of all variables differs from that of the feature alone", linked)
	}
	res := full.link(link.Extra, perCPU.Blob)
	extra := res.Blob
	for _, s := range res.Skipped {
		if s.Name != "inside.0" && s.Name != "f.inside" { // variables of functions
			w.Errorf("%s: skipped %v", linked, s)
		}
	}
	first, second := w.Variables(perCPU.Blob), w.Variables(extra)
	for at := range second {
		if strings.HasPrefix(at, facts.PerCPUSection) {
			w.Errorf("%s: %s is not extra", linked, at)
		}
	}
	maps.Copy(second, first)
	if got := w.Variables(all.Blob); !maps.Equal(got, second) {
		w.Errorf("%s: all variables\n%v\nin parts\n%v", linked, got, second)
	}
	if want := w.Oracle(linked); !maps.Equal(second, want) {
		w.Errorf("%s: variables\n%v\nwant\n%v", linked, second, want)
	}
	for i := range extra.Types {
		switch t := &extra.Types[i]; {
		case t.Kind == btf.KindFunc, t.NameOff != 0 && t.Kind == btf.KindStruct:
			w.Errorf("%s: the extra part has %v %s", linked, t.Kind, extra.TypeName(t))
		}
	}
	return extra
}

// With -O2, clang splits some variables into their parts.
var compilers = []string{"gcc -gdwarf-4", "gcc -O2 -gdwarf-4",
	"gcc -O2 -gdwarf-4 -fdata-sections", "clang -gdwarf-4"}

// TestVariables: from objects and facts that were made with global_var, one link makes the BTF of
// the default features, and another makes split BTF of the other variables, based on the first.
// Together, these two have the same content as a single link with global_var, and as the DWARF.
func TestVariables(t *testing.T) {
	for _, compiler := range compilers {
		t.Run(compiler, func(t *testing.T) {
			w := newWorkspace(t)
			objects := w.Compile(compiler, kernel)
			w.Link("kernel", objects...)
			objects = append(objects, w.Compile(compiler, unlinked)...)
			extra := w.checkParts("kernel", nil, objects...)
			tags := 0
			for i := range extra.Types {
				if extra.Types[i].Kind == btf.KindDeclTag {
					tags++
				}
			}
			if strings.HasPrefix(compiler, "clang") && tags != 1 {
				t.Errorf("%d declaration tags, want only zero's; that of marked is in the base", tags)
			}

			below := w.inputs(features.Default(), "kernel", objects...).link(0, nil).Blob
			own := w.Compile(compiler, ofModule)
			w.Run("ld", append([]string{"-r", "-o", "mod.ko"}, own...)...)
			onModule := w.checkParts("mod.ko", below, own...)

			// If the extra part isn't based on the module's own BTF, it also has the module's types.
			full := w.inputs(features.Default().With(features.GlobalVar), "mod.ko", own...)
			alone := full.link(link.Extra, below).Blob
			if got, want := w.Variables(alone), w.Variables(onModule); !maps.Equal(got, want) {
				t.Errorf("on the kernel alone\n%v\non the module\n%v", got, want)
			}
		})
	}
}

// TestMissing checks the errors if the feature, facts or base that the variables need is missing.
func TestMissing(t *testing.T) {
	set := features.Default().With(features.GlobalVar)
	for _, c := range []struct {
		which       link.Which
		set         features.Set
		facts, base bool
		want        string
	}{
		{0, features.Default(), false, false, ""},
		{link.PerCPU, features.Default(), false, false, ""},
		{link.All, features.Default(), true, true, "needs the feature global_var"},
		{link.All, set, true, false, ""},
		{link.All, set, false, true, "needs --facts"},
		{link.Extra, set, true, false, "needs --base"},
		{link.Extra, set, true, true, ""},
	} {
		err := c.which.Check(c.set, c.facts, c.base)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v", c, err)
		}
	}
}
