package random

import (
	"debug/elf"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// checkReduced compiles a unit with -femit-struct-debug-baseonly, so that gcc only declares the
// types of other files. Parts of the unit pretend to be in another file. If an anonymous type is
// only declared, this must be an error that names the unit; otherwise, all definitions must have
// their usual sizes.
func checkReduced(b *Build) error {
	files := b.Program.Files()
	at := b.random(12).IntN(len(files))
	linked, objects := b.variant("reduced", at, reducedSource(files[at], b.random(13)),
		"-femit-struct-debug-baseonly")
	const out = "reduced.btf"
	if err := harness.Caught(func() error {
		b.btfgen("elf", "-o", out, linked)
		return nil
	}); err != nil {
		return b.expectLeftOut(err, files[at].Path+": a type that has neither a name", linked,
			slices.Delete(objects, at, at+1))
	}
	usual := b.oneShot().sizes()
	var wrong []string
	for definition := range (result{out, b.read(out)}).sizes() {
		if !usual[definition] {
			wrong = append(wrong, "only with reduced debugging information: "+definition)
		}
	}
	slices.Sort(wrong)
	return list(wrong)
}

// reducedSource returns the source of a unit in which some declarations pretend to be in a header.
func reducedSource(u *Unit, r *rand.Rand) string {
	var b strings.Builder
	for _, k := range u.root.kids {
		if !k.gone {
			fmt.Fprintf(&b, "#line 1 %q\n", []string{path.Base(u.Path), "other.h"}[r.IntN(2)])
			k.write(&b, true)
			b.WriteString("\n")
		}
	}
	return indented(b.String())
}

// sizes returns the keywords, names and sizes of all structs and unions.
func (r result) sizes() map[string]bool {
	all := map[string]bool{}
	for _, t := range r.types() {
		switch t := t.(type) {
		case *btf.Struct:
			all[fmt.Sprintf("struct %s of %d bytes", t.Name, t.Size)] = true
		case *btf.Union:
			all[fmt.Sprintf("union %s of %d bytes", t.Name, t.Size)] = true
		}
	}
	return all
}

// membersOnly is a unit that BTF can't express. Its other types must leave no trace.
const membersOnly = `struct t0 { void *unencodable; };
typedef int t0::*u0;
extern "C" int unencodable(t0 *x, u0 member) { return x->unencodable != 0; }
`

// checkUnencodable adds a unit with pointers to members to the program.
func checkUnencodable(b *Build) error {
	const dir, unit = "unencodable", "members.cc"
	b.write(dir+"/"+unit, []byte(membersOnly))
	argv := b.Options.Command(0, &Unit{Path: unit})
	b.compiler(b.path(dir), append(argv, "-o", "members.o", unit)...)
	const linked = dir + "/linked"
	b.link(linked, append(b.Objects(), dir+"/members.o"))
	err := harness.Caught(func() error {
		b.btfgen("elf", "-o", b.temporary(""), linked)
		return nil
	})
	return b.expectLeftOut(err, unit+": DW_TAG_ptr_to_member_type", linked, b.Objects())
}

// expectLeftOut checks that the conversion of a linked file failed because of a unit, and that with
// the feature skip_unencodable, the BTF is that of the objects of all other units.
func (b *Build) expectLeftOut(err error, reason, linked string, others []string) error {
	var failed *commandError
	if !errors.As(err, &failed) || !strings.Contains(failed.result.Stderr, "unit "+reason) {
		return fmt.Errorf("the conversion of %s should fail because of unit %s: %w", linked, reason, err)
	}
	return b.expect(b.linkFor(linked, others), result{"btfgen elf, skip_unencodable",
		b.make(func(out string) { b.btfgen("elf", "--features=+skip_unencodable", "-o", out, linked) })})
}

// linkFor links the BTF objects of object files with the facts of a linked file.
func (b *Build) linkFor(linked string, objects []string) result {
	facts := linked + ".facts"
	b.btfgen("facts", "-o", facts, linked)
	argv := []string{"link", "--facts", facts}
	for _, o := range objects {
		argv = append(argv, b.BTFObject(o))
	}
	return result{"btfdedup link for " + linked, b.make(func(out string) {
		b.btfdedup(append(argv, "-o", out)...)
	})}
}

// checkUntyped compiles a unit with -g1. The tools must warn of it if it has functions, and all
// ways of making BTF must agree about it.
func checkUntyped(b *Build) error {
	files := b.Program.Files()
	at := b.random(14).IntN(len(files))
	linked, objects := b.variant("untyped", at, files[at].Text(), "-g1")
	const out = "untyped.btf"
	r, err := harness.Command{Argv: []string{b.Tools.Btfgen, "elf", "-o", out, linked}, Dir: b.Dir,
		Timeout: commandTimeout}.Run()
	if err != nil {
		return err
	}
	warning := "unit " + files[at].Path + " has functions, but no types"
	want := b.definesFunctions(objects[at])
	if r.Exit != 0 || strings.Contains(r.Stderr, warning) != want {
		return fmt.Errorf("a unit with -g1: exit %d; the warning %q is expected: %t: %s", r.Exit, warning,
			want, r.Stderr)
	}
	if !want {
		return nil // gcc writes no DWARF
	}
	return b.expect(b.linkFor(linked, objects), result{"btfgen elf of " + linked, b.read(out)})
}

// definesFunctions reports whether an object file defines functions.
func (b *Build) definesFunctions(object string) bool {
	f := harness.Get(elf.Open(b.path(object)))
	defer f.Close()
	symbols, err := f.Symbols()
	if !errors.Is(err, elf.ErrNoSymbols) {
		harness.Check(err)
	}
	return slices.ContainsFunc(symbols, func(s elf.Symbol) bool {
		return elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Section != elf.SHN_UNDEF
	})
}
