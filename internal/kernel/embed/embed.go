package embed

import (
	"bytes"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
)

// Into returns f with the BTF types in the section .BTF, and the BTF base in the section .BTF.base.
// If base is nil, Into removes .BTF.base, because the new BTF isn't based on that section's BTF.
// Into also removes .BTF.inline, which is based on the old BTF, unless that section is loaded.
// Inline adds a new one.
// New sections are not loaded and have alignment 1, like sections that objcopy --add-section
// creates. The result can be edited further; write it while f is open.
//
// If f is linked and its .BTF is in a loaded segment, the kernel reads as many bytes as the linker
// reserved (__stop_BTF - __start_BTF), and rejects BTF that does not fill them. So Into pads
// smaller BTF; larger BTF is an error. An empty .BTF, which lld creates if no input has one, is
// ignored.
//
// The result data is the BTF in the section .BTF. Other BTF must be based on data, not on types,
// because the offsets of its strings begin where those of its base end.
//
// BTF without a base is an error for a kernel module, because the kernel would take its ids for ids
// in the BTF of vmlinux.
// Rule: embedding: .BTF and .BTF.base in an ELF file. Source: kernel scripts/gen-btf.sh
// embed_btf_data; pahole btf_encoder__write_elf.
// Rule: modules without vmlinux, so without a base. Embedding is an error.
func Into(f *elf.File, types, base *Blob) (edit *elfwrite.Edit, data []byte, err error) {
	if reserved := loaded(f, btf.SectionTypes); reserved > 0 {
		if types, err = types.fill(f, reserved, "make an object file from the BTF with btfdedup embed "+
			"--object, and link the kernel with that file"); err != nil {
			return nil, nil, err
		}
	}
	if base == nil && types.alone && f.IsModule() {
		return nil, nil, fmt.Errorf("%s: the BTF has no base, but %s is a kernel module: make the BTF "+
			"with the BTF of the kernel as --base", types.Path, f.Path)
	}
	edit, _, err = Over(f, types, base)
	return edit, types.Data, err
}

// Over is like Into, but for files whose readers find the BTF by its section, even if the section
// is not loaded. If a linked file has a .BTF of a different size in a loaded segment, Over puts the
// new BTF into an additional section .BTF that is not loaded, and leaves the loaded bytes in the
// file; the result beside is then true.
// Rule: embedding: a .BTF that is loaded.
func Over(f *elf.File, types, base *Blob) (edit *elfwrite.Edit, beside bool, err error) {
	if err := types.checkOrder(f); err != nil {
		return nil, false, err
	}
	if base != nil && !f.Relocatable() {
		return nil, false, fmt.Errorf("%s: only modules have a distilled base, not linked files (%s); "+
			"leave out --btf-base",
			f.Path, f.Type)
	}
	if edit, err = elfwrite.NewEdit(f); err != nil {
		return nil, false, err
	}
	old := f.Section(btf.SectionTypes)
	other := old != nil && old.Alloc() && !f.Relocatable() && old.Size != uint64(len(types.Data))
	if other {
		if err := edit.Unload(btf.SectionTypes); err != nil {
			return nil, false, err
		}
	}
	if err := edit.Set(elfwrite.Section{Name: btf.SectionTypes, Data: types.Data}); err != nil {
		return nil, false, err
	}
	if s := f.Section(btf.SectionInline); s != nil && (f.Relocatable() || !s.Alloc()) {
		if err := edit.Remove(btf.SectionInline); err != nil {
			return nil, false, err
		}
	}
	beside = other && old.Size > 0
	if base == nil {
		return edit, beside, edit.Remove(btf.SectionBase)
	}
	if err := base.checkOrder(f); err != nil {
		return nil, false, err
	}
	return edit, beside, edit.Set(elfwrite.Section{Name: btf.SectionBase, Data: base.Data})
}

// ReadInline reads BTF of inlined functions, which is based on the BTF types, to be put into f.
func ReadInline(path string, f *elf.File, types *Blob) (*Blob, error) {
	inline, err := ReadBlob(path)
	if err == nil {
		err = inline.checkOrder(f)
	}
	if err == nil && inline.alone {
		err = fmt.Errorf("%s: BTF of inlined functions must be split BTF, based on %s; make it with "+
			"btfgen inline", path, types.Path)
	}
	return inline, err
}

// Inline puts BTF of inlined functions, which is based on the BTF that edit has, into the section
// .BTF.inline of the edited file f, and returns it. If that section is loaded, Inline pads the BTF,
// as Into does.
func Inline(edit *elfwrite.Edit, f *elf.File, inline *Blob) (data []byte, err error) {
	if reserved := loaded(f, btf.SectionInline); reserved > 0 {
		if inline, err = inline.fill(f, reserved, "link the kernel with the new "+
			btf.SectionInline); err != nil {
			return nil, err
		}
	}
	return inline.Data, edit.Set(elfwrite.Section{Name: btf.SectionInline, Data: inline.Data})
}

// CheckNoInline returns an error if the copy of f with the given BTF needs BTF of inlined
// functions, because Into can't remove the old .BTF.inline, which is loaded, and which is based on
// other BTF.
func CheckNoInline(f *elf.File, data []byte) error {
	if loaded(f, btf.SectionInline) == 0 {
		return nil
	}
	if old, err := btf.Section(f, btf.SectionTypes); err != nil || bytes.Equal(old, data) {
		return err
	}
	return fmt.Errorf("%s: the section %s is in a loaded segment, and is based on the old BTF: replace "+
		"it too, with --inline and the output of btfgen inline", f.Path, btf.SectionInline)
}

// loaded returns how many bytes the linker reserved for a section of a linked file, or 0 if the
// section isn't loaded.
func loaded(f *elf.File, name string) uint64 {
	old := f.Section(name)
	if old == nil || !old.Alloc() || f.Relocatable() {
		return 0
	}
	return old.Size
}

// ObjectFile returns a relocatable ELF file for the machine and ABI of f, with the BTF types in a
// loaded section .BTF. The kernel's scripts/gen-btf.sh makes such an object file with the compiler,
// objcopy and dd, and links it into vmlinux. The linker script puts __start_BTF and __stop_BTF
// around .BTF.
// Rule: embedding: an object file with .BTF. Source: kernel scripts/gen-btf.sh gen_btf_o.
func ObjectFile(f *elf.File, types *Blob) ([]byte, error) {
	if err := types.checkOrder(f); err != nil {
		return nil, err
	}
	o := elfwrite.Like(f)
	o.Sections = []elfwrite.Section{{Name: btf.SectionTypes, Data: types.Data, Alloc: true}}
	return o.Bytes()
}
