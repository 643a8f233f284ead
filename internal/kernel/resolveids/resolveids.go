// Package resolveids fills in .BTF_ids of an ELF file, for the verbs resolve-ids and embed. Package
// btfids handles the section alone; this package adds the ELF file, the file's old BTF, and kfuncs
// with implicit arguments.
//
// A file may be resolved again with other BTF, as vmlinux is when its BTF is replaced. Find then
// moves flags back to their functions, by the file's old .BTF. So call it before other BTF is
// embedded.
package resolveids

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/kernel/btfids"
	"github.com/rules-btf/rules_btf/internal/kernel/implicitargs"
)

// Base reads a base when it is needed. It returns nil if there is none.
type Base func() (*btf.Blob, error)

// IDs is a file's .BTF_ids, without the ids.
type IDs struct {
	Path    string // of the file, for messages
	section *btfids.Section
	kfuncs  []string
}

// Find reads .BTF_ids of f. It returns nil if f has none, or an empty one. If f was resolved
// before, and a set's flags were sorted, they are assigned by f's own .BTF; oldBase reads its base.
// Errors name the file.
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

// restore moves the flags in a section that was resolved before back to their functions.
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
		return fmt.Errorf("%s: section %s, which was resolved before: %w (the file's .BTF says what its "+
			"ids mean; --old-base names its base)", f.Path, btfids.SectionName, err)
	}
	return nil
}

// ImplicitKfuncs lists the kfuncs with implicit arguments, by name. x may be nil.
func (x *IDs) ImplicitKfuncs() []string {
	if x == nil {
		return nil
	}
	return x.kfuncs
}

// Explicit removes the implicit arguments of the file's kfuncs from b, whose raw BTF is data, from
// the file typesPath: that is the BTF of resolve-ids --btf-out. It returns the new BTF, raw and
// parsed, or data and b if there is nothing to remove. x may be nil.
func (x *IDs) Explicit(data []byte, b *btf.Blob, typesPath string, jobs int) ([]byte, *btf.Blob,
	error) {
	if len(x.ImplicitKfuncs()) == 0 {
		return data, b, nil
	}
	changed, err := implicitargs.RewriteIfDue(b, x.kfuncs, jobs)
	if err == nil && changed != nil {
		data = changed
		b, err = btf.Parse(changed, b.Base)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", typesPath, err)
	}
	return data, b, nil
}

// Resolve returns the section with the ids of b, from the file typesPath, and warnings: about names
// with no type or several, and about implicit arguments.
func (x *IDs) Resolve(b *btf.Blob, typesPath string) (data []byte, warnings []string, err error) {
	data, found, err := x.section.Resolve(b)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: section %s: %w", x.Path, btfids.SectionName, err)
	}
	for _, w := range found {
		warnings = append(warnings, w.String())
	}
	if left := implicitargs.Left(b, x.kfuncs); len(left) > 0 {
		warnings = append(warnings, fmt.Sprintf("kernels since 7.0 don't want %s to show the implicit "+
			"arguments of kfuncs, such as %q (%d of them); use the BTF of btfdedup resolve-ids --btf-out",
			typesPath, left[0], len(left)))
	}
	return data, warnings, nil
}

// Into is Resolve for an edited file: it replaces the section.
func (x *IDs) Into(edit *elfwrite.Edit, b *btf.Blob, typesPath string) (warnings []string,
	err error) {
	data, warnings, err := x.Resolve(b, typesPath)
	if err != nil {
		return nil, err
	}
	return warnings, edit.Patch(btfids.SectionName, data)
}

// OwnTypes reads the .BTF section of a file, based on its .BTF.base or else on base.
func OwnTypes(f *elf.File, base *btf.Blob) (*btf.Blob, error) {
	blobs, err := btf.ReadELF(f, base)
	if err == nil && len(blobs) != 1 {
		err = fmt.Errorf("section %s: %d blobs of BTF, expected one", btf.SectionTypes, len(blobs))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return blobs[0], nil
}
