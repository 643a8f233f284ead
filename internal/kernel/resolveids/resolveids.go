// Package resolveids fills in .BTF_ids of an ELF file: what the verbs resolve-ids and embed share.
// Package btfids knows the section alone; here are the file around it, the BTF that the file had
// before, and kfuncs with implicit arguments.
//
// A file may be resolved again with other BTF, as vmlinux is when its BTF is replaced. Find puts
// the flags of such a file back to their functions, with the help of its old .BTF, so it reads the
// file as it was before other BTF is embedded.
package resolveids

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/kernel/btfids"
	"github.com/rules-btf/rules_btf/internal/kernel/implicitargs"
)

// Base reads what BTF is based on, when it is needed. It returns nil if there is none.
type Base func() (*btf.Blob, error)

// IDs is what a file's .BTF_ids says, without ids.
type IDs struct {
	Path    string // of the file, for messages
	section *btfids.Section
	kfuncs  []string
}

// Find reads .BTF_ids of f. It returns nil if f has none, or an empty one. If f was resolved
// before, and the flags of a set were sorted then, f's own .BTF tells whose they are; oldBase reads
// what that is based on. Errors name the file.
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

// restore puts the flags in a section that was resolved before back to their functions.
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
			"ids mean; --old-base names what that is based on)", f.Path, btfids.SectionName, err)
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

// Explicit returns data, which is b's BTF from the file typesPath, without the implicit arguments
// of the file's kfuncs, as resolve-ids --btf-out has it, and the blob of that. If b shows none, it
// is data and b. x may be nil.
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

// Resolve returns the section with the ids of b, which comes from the file typesPath, and warnings:
// of names that are not one type, and of implicit arguments.
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

// Into is Resolve of a file that is edited: the section gets the ids.
func (x *IDs) Into(edit *elfwrite.Edit, b *btf.Blob, typesPath string) (warnings []string,
	err error) {
	data, warnings, err := x.Resolve(b, typesPath)
	if err != nil {
		return nil, err
	}
	return warnings, edit.Patch(btfids.SectionName, data)
}

// OwnTypes reads the .BTF section of a file, which is based on its .BTF.base, else on base.
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
