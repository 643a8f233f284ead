// Package resolveids fills in the section .BTF_ids of an ELF file, for the commands resolve-ids and
// embed. Package btfids handles the section itself. This package handles the rest: the ELF file,
// the file's old BTF, and kfuncs with implicit arguments.
//
// A file can be resolved again with different BTF, for example after the BTF of vmlinux was
// replaced. Find uses the old .BTF in the file to move the flags back to their functions, so call
// Find before embedding the new BTF.
package resolveids

import (
	stdelf "debug/elf"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/kernel/btfids"
	"github.com/rules-btf/rules_btf/internal/kernel/implicitargs"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
)

// Base reads a base BTF on demand. It returns nil if there is none.
type Base func() (*btf.Blob, error)

// IDs is the section .BTF_ids of a file, with all ids set to 0.
type IDs struct {
	Path    string // of the file, for messages
	section *btfids.Section
	kfuncs  []string
}

// Find reads .BTF_ids of f. It returns nil if the section is missing or empty. If f has already
// been resolved, flags have been moved, and Find uses the .BTF of f to move them back; oldBase
// reads the base of that .BTF. Errors name the file.
// Rule: .BTF_ids: old BTF of a file whose ids are resolved.
func Find(f *elf.File, oldBase Base) (*IDs, error) {
	section, err := btfids.Find(f)
	if section == nil || err != nil {
		return nil, err
	}
	if section.Sorted() {
		if err := restore(f, section, oldBase); err != nil {
			return nil, err
		}
	}
	x := &IDs{Path: f.Path, section: section}
	all, err := section.Kfuncs()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	for _, k := range all {
		if k.Flags&implicitargs.Flag != 0 {
			x.kfuncs = append(x.kfuncs, k.Name)
		}
	}
	return x, nil
}

// restore moves the flags in an already resolved section back to their functions.
func restore(f *elf.File, section *btfids.Section, oldBase Base) error {
	base, err := oldBase()
	if err != nil {
		return err
	}
	old, err := OwnTypes(f, base)
	if err == nil {
		err = section.Restore(old)
	}
	if err != nil {
		return fmt.Errorf("%s: section %s has already been resolved, so its ids are looked up in "+
			"the file's .BTF: %w (specify the base of that BTF as --old-base)", f.Path,
			btfids.SectionName, err)
	}
	return nil
}

// ImplicitKfuncs lists the kfuncs that have implicit arguments, sorted by name. x may be nil.
func (x *IDs) ImplicitKfuncs() []string {
	if x == nil {
		return nil
	}
	return x.kfuncs
}

// Outlined returns a function that reports whether the BTF of f keeps the functions with a name
// even if only sites of inlined functions need them: f has a function symbol with this name, f has
// the function's id in .BTF_ids, or f is stripped. This is the rule of resolve_btfids
// (keep_in_base_btf in tools/bpf/resolve_btfids/main.c of Linux 7.4). Call the result only while f
// is open. x may be nil.
// Rule: sites of inlined functions: functions that stay outside the separate file.
func (x *IDs) Outlined(f *elf.File) (func(name string) bool, error) {
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	if len(symbols.List) == 0 {
		return func(string) bool { return true }, nil
	}
	names := map[string]bool{}
	if x != nil {
		names = x.section.Functions()
	}
	for i := range symbols.List {
		s := &symbols.List[i]
		if stdelf.SymType(s.Type) == stdelf.STT_FUNC && s.Place != elf.Undefined {
			names[symbols.Name(s)] = true
		}
	}
	return func(name string) bool { return names[name] }, nil
}

// Types is the BTF of a file, and the sites of inlined functions that are based on it.
type Types struct {
	Data  []byte    // the raw form of BTF
	BTF   *btf.Blob // parsed
	Sites *btf.Blob // split BTF, based on BTF; may be nil
}

// Explicit removes the implicit arguments of the file's kfuncs from BTF, which was read from the
// file typesPath. Explicit returns the new BTF, and the same sites on it; or t if there is nothing
// to remove. resolve-ids writes the raw BTF to --btf-out. x may be nil.
// Rule: kfuncs: implicit arguments. In BTF that is being embedded.
func (x *IDs) Explicit(t Types, typesPath string, jobs int) (Types, error) {
	if len(x.ImplicitKfuncs()) == 0 {
		return t, nil
	}
	if t.Sites != nil {
		data, sites, err := implicitargs.RewriteWith(t.Sites, x.kfuncs, jobs)
		if err == nil && data != nil {
			t = Types{data, sites.Base, sites}
		}
		return t, in(typesPath, err)
	}
	data, err := implicitargs.RewriteIfNeeded(t.BTF, x.kfuncs, jobs)
	if err == nil && data != nil {
		t.Data = data
		t.BTF, err = btf.Parse(data, t.BTF.Base)
	}
	return t, in(typesPath, err)
}

// OfKernel returns the BTF of the kernel in the file at path, without the implicit arguments of its
// kfuncs: the BTF on which that of modules is based. The BTF in data was made from the file. If the
// file has no .BTF_ids with contents, its kfuncs are unknown.
func OfKernel(path string, data []byte, jobs int) ([]byte, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if s := f.Section(btfids.SectionName); s == nil || s.Raw() == nil {
		return data, nil
	}
	ids, err := Find(f, func() (*btf.Blob, error) { return nil, nil })
	if err != nil {
		return nil, err
	}
	b, err := btf.Parse(data, nil)
	if err != nil {
		return nil, in(path, err)
	}
	explicit, err := ids.Explicit(Types{Data: data, BTF: b}, path, jobs)
	return explicit.Data, err
}

// in returns err with the path of the file in which the error is, or nil.
func in(path string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return err
}

// Resolve returns the section with ids from b, which was read from the file typesPath. It warns
// about names that have no type or several types, and about implicit arguments.
func (x *IDs) Resolve(b *btf.Blob, typesPath string) (data []byte, warnings []string, err error) {
	data, found, err := x.section.Resolve(b)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: section %s: %w", x.Path, btfids.SectionName, err)
	}
	for _, w := range found {
		warnings = append(warnings, w.String())
	}
	if left := implicitargs.Left(b, x.kfuncs); len(left) > 0 {
		warnings = append(warnings, fmt.Sprintf("in %s, kfuncs such as %q (%d in all) have implicit "+
			"arguments, which Linux 7.0 and later don't expect; use the BTF from btfdedup resolve-ids "+
			"--btf-out, which removes them if kfuncs have the tag bpf_kfunc (the feature "+
			"decl_tag_kfuncs)", typesPath, left[0], len(left)))
	}
	return data, warnings, nil
}

// Into is like Resolve, but replaces the section in an edited file.
func (x *IDs) Into(edit *elfwrite.Edit, b *btf.Blob, typesPath string) (warnings []string,
	err error) {
	data, warnings, err := x.Resolve(b, typesPath)
	if err != nil {
		return nil, err
	}
	return warnings, edit.Patch(btfids.SectionName, data)
}

// OwnTypes reads the section .BTF of a file. The base of this BTF is the file's .BTF.base or, if
// that section is missing, the parameter base.
func OwnTypes(f *elf.File, base *btf.Blob) (*btf.Blob, error) {
	blobs, err := btf.ReadELF(f, base)
	if err == nil && len(blobs) != 1 {
		err = fmt.Errorf("section %s: found %d BTF blobs, expected one", btf.SectionTypes, len(blobs))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return blobs[0], relocate.Fits(f.Path, blobs[0])
}
