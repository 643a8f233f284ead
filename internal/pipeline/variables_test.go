package pipeline

import (
	"bytes"
	std "debug/dwarf"
	stdelf "debug/elf"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/base"
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

const preamble = `
#define PERCPU __attribute__((section(".data..percpu"), used))
#if defined(__has_attribute)
#if __has_attribute(btf_decl_tag)
#define MARK __attribute__((btf_decl_tag("mark")))
#endif
#endif
#ifndef MARK
#define MARK
#endif
`

const linkScript = `SECTIONS {
	. = 0x100000;
	.text : { *(.text .text.*) }
	.rodata : { *(.rodata .rodata.*) }
	.data..percpu : { *(.data..percpu) }
	.data : { *(.data .data.*) }
	.bss : { *(.bss .bss.*) }
}
`

// workspace is a directory with the files that a test makes.
type workspace struct {
	programtest.Dir
}

// compile makes an object file from each source, and returns the names of the object files.
func (w workspace) compile(command string, sources map[string]string) []string {
	w.Helper()
	var objects []string
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		w.Write(name, preamble+sources[name])
		objects = append(objects, strings.TrimSuffix(name, ".c")+".o")
		words := strings.Fields(command)
		w.Run(words[0], append(words[1:], "-gdwarf-4", "-c", "-ffreestanding", "-fno-pic",
			"-o", objects[len(objects)-1], name)...)
	}
	return objects
}

// input is what a link reads.
type input struct {
	set     features.Set
	objects []*object.Object
	facts   *facts.Facts
	text    string // the facts as text
}

// inputs converts objects, writes the resulting BTF objects to files and reads them back. It also
// extracts the facts of the file that was linked from the objects.
func (w workspace) inputs(set features.Set, linked string, objects ...string) *input {
	w.Helper()
	in := &input{set: set}
	for _, name := range objects {
		made, err := convert.File(w.open(name), convert.Options{Features: set, Jobs: 1})
		if err != nil {
			w.Fatal(err)
		}
		data, err := object.Write(made.Object, 1)
		if err != nil {
			w.Fatal(err)
		}
		w.Write(name+".btfo", string(data))
		o, err := object.ReadFile(w.Path(name+".btfo"), nil)
		if err != nil {
			w.Fatal(err)
		}
		in.objects = append(in.objects, o)
	}
	known, err := Facts(w.open(linked), facts.Options{Features: set}, nil)
	if err != nil {
		w.Fatal(err)
	}
	in.text = w.text(known)
	if in.facts, err = facts.Parse(strings.NewReader(in.text)); err != nil {
		w.Fatal(err)
	}
	return in
}

func (w workspace) text(f *facts.Facts) string {
	w.Helper()
	var b strings.Builder
	if err := f.Write(&b); err != nil {
		w.Fatal(err)
	}
	return b.String()
}

func (w workspace) open(name string) *elf.File {
	w.Helper()
	f, err := elf.Open(w.Path(name))
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { f.Close() })
	return f
}

// link links the input; the parameter on is the base, or nil. It verifies and parses the result.
func (w workspace) link(in *input, which link.Which, on *btf.Blob) (*btf.Blob, *link.Result) {
	w.Helper()
	opt := link.Options{Facts: in.facts, Features: in.set, Variables: which, Jobs: 1}
	if on != nil {
		parsed, err := base.Parse(on)
		if err != nil {
			w.Fatal(err)
		}
		opt.Base = parsed
	}
	res, err := link.Link(in.objects, opt)
	if err != nil {
		w.Fatal(err)
	}
	blob, err := btf.Parse(res.BTF, on)
	if err != nil {
		w.Fatal(err)
	}
	for _, problem := range verify.Check(blob, verify.Options{}) {
		w.Errorf("variables %v: %v", which, problem)
	}
	return blob, res
}

// variables returns the types of the variables in a blob, by section, offset and name.
func (w workspace) variables(b *btf.Blob) map[string]string {
	w.Helper()
	name := func(off uint32) string {
		s, err := b.Name(off)
		if err != nil {
			w.Fatal(err)
		}
		return s
	}
	var spell func(id uint32, deep bool) string
	spell = func(id uint32, deep bool) string {
		t, at := b.ByID(id)
		switch t.Kind {
		case btf.KindPtr:
			return "*" + spell(t.SizeOrType, deep)
		case btf.KindConst:
			return "const " + spell(t.SizeOrType, deep)
		case btf.KindArray:
			a := at.ArrayOf(t)
			return fmt.Sprintf("[%d]%s", a.Nelems, spell(a.Elem, deep))
		case btf.KindStruct, btf.KindUnion:
			if !deep {
				return name(t.NameOff)
			}
			text := name(t.NameOff) + "{"
			for _, m := range at.MembersOf(t) {
				text += " " + name(m.NameOff) + " " + spell(m.Type, false)
			}
			return text + " }"
		}
		return name(t.NameOff)
	}
	found := map[string]string{}
	for i := range b.Types {
		sec := &b.Types[i]
		if sec.Kind != btf.KindDatasec {
			continue
		}
		for _, s := range b.SecinfosOf(sec) {
			v, _ := b.ByID(s.Type)
			at := fmt.Sprintf("%s+%d %s", name(sec.NameOff), s.Offset, name(v.NameOff))
			found[at] = fmt.Sprintf("%d bytes, linkage %d: %s", s.Size, v.Extra,
				spell(v.SizeOrType, true))
		}
	}
	return found
}

// oracle returns what the method variables should return: the symbols of a linked file, with the
// types that the standard library reads from the file's DWARF.
func (w workspace) oracle(file string) map[string]string {
	w.Helper()
	f, err := stdelf.Open(w.Path(file))
	if err != nil {
		w.Fatal(err)
	}
	defer f.Close()
	d, err := f.DWARF()
	if err != nil {
		w.Fatal(err)
	}
	var spell func(t std.Type, deep bool) string
	spell = func(t std.Type, deep bool) string {
		switch t := t.(type) {
		case *std.PtrType:
			return "*" + spell(t.Type, deep)
		case *std.QualType:
			return t.Qual + " " + spell(t.Type, deep)
		case *std.ArrayType:
			return fmt.Sprintf("[%d]%s", t.Count, spell(t.Type, deep))
		case *std.StructType:
			if !deep {
				return t.StructName
			}
			text := t.StructName + "{"
			for _, m := range t.Field {
				text += " " + m.Name + " " + spell(m.Type, false)
			}
			return text + " }"
		}
		return t.Common().Name
	}
	symbols, err := f.Symbols()
	if err != nil {
		w.Fatal(err)
	}
	found := map[string]string{}
	for r := d.Reader(); ; {
		e, err := r.Next()
		if err != nil {
			w.Fatal(err)
		}
		if e == nil {
			return found
		}
		if e.Tag == std.TagCompileUnit {
			continue
		}
		r.SkipChildren()
		location, _ := e.Val(std.AttrLocation).([]byte)
		if e.Tag != std.TagVariable || len(location) != 9 || location[0] != 3 { // DW_OP_addr
			continue
		}
		name, external := e.Val(std.AttrName).(string), uint32(0)
		if e.Val(std.AttrExternal) == true {
			external = 1
		}
		t, err := d.Type(e.Val(std.AttrType).(std.Offset))
		if err != nil {
			w.Fatal(err)
		}
		for _, s := range symbols {
			if s.Name == name && s.Value == binary.LittleEndian.Uint64(location[1:]) {
				section := f.Sections[s.Section]
				at := fmt.Sprintf("%s+%d %s", section.Name, s.Value-section.Addr, name)
				found[at] = fmt.Sprintf("%d bytes, linkage %d: %s", s.Size, external, spell(t, true))
			}
		}
	}
}

// checkParts links the objects with each link.Which, based on the parameter on, and returns the
// extra part. The parameter linked is the file that ld made from the objects.
func (w workspace) checkParts(linked string, on *btf.Blob, objects ...string) *btf.Blob {
	w.Helper()
	plain := w.inputs(features.Default(), linked, objects...)
	full := w.inputs(features.Default().With(features.GlobalVar), linked, objects...)
	if got := w.text(full.facts.PerCPU()); got != plain.text {
		w.Errorf("%s: facts of per-CPU variables\n%s\nwant\n%s", linked, got, plain.text)
	}
	_, want := w.link(plain, 0, on)
	perCPU, res := w.link(full, link.PerCPU, on)
	if !bytes.Equal(res.BTF, want.BTF) || !slices.Equal(res.Skipped, want.Skipped) {
		w.Errorf("%s: the per-CPU variables of objects with all variables give different BTF: "+
			"skipped %v, want %v", linked, res.Skipped, want.Skipped)
	}
	all, res := w.link(full, link.All, on)
	_, byFeatures := w.link(full, 0, on)
	if !bytes.Equal(res.BTF, byFeatures.BTF) {
		w.Errorf("%s: the BTF of all variables differs from that of the feature alone", linked)
	}
	extra, res := w.link(full, link.Extra, perCPU)
	for _, s := range res.Skipped {
		if s.Name != "inside.0" && s.Name != "f.inside" { // variables of functions
			w.Errorf("%s: skipped %v", linked, s)
		}
	}
	first, second := w.variables(perCPU), w.variables(extra)
	for at := range second {
		if strings.HasPrefix(at, facts.PerCPUSection) {
			w.Errorf("%s: %s is not extra", linked, at)
		}
	}
	maps.Copy(second, first)
	if got := w.variables(all); !maps.Equal(got, second) {
		w.Errorf("%s: all variables\n%v\nin parts\n%v", linked, got, second)
	}
	if want := w.oracle(linked); !maps.Equal(second, want) {
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
var compilers = []string{"gcc", "gcc -O2", "gcc -O2 -fdata-sections", "clang"}

// TestVariables: from objects and facts that were made with global_var, one link makes the BTF of
// the default features, and another makes split BTF of the other variables, based on the first.
// Together, these two have the same content as a single link with global_var, and as the DWARF.
func TestVariables(t *testing.T) {
	for _, compiler := range compilers {
		t.Run(compiler, func(t *testing.T) {
			w := workspace{programtest.NewDir(t)}
			w.Write("link.lds", linkScript)
			objects := w.compile(compiler, kernel)
			w.Run("ld", append([]string{"-T", "link.lds", "-e", "0", "-o", "kernel"}, objects...)...)
			objects = append(objects, w.compile(compiler, unlinked)...)
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

			below, _ := w.link(w.inputs(features.Default(), "kernel", objects...), 0, nil)
			own := w.compile(compiler, ofModule)
			w.Run("ld", append([]string{"-r", "-o", "mod.ko"}, own...)...)
			onModule := w.checkParts("mod.ko", below, own...)

			// If the extra part isn't based on the module's own BTF, it also has the module's types.
			full := w.inputs(features.Default().With(features.GlobalVar), "mod.ko", own...)
			alone, _ := w.link(full, link.Extra, below)
			if got, want := w.variables(alone), w.variables(onModule); !maps.Equal(got, want) {
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
