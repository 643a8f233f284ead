package embed

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
)

// Into returns f with types as .BTF and base, unless nil, as .BTF.base. Without base it removes a
// .BTF.base of f, because types aren't based on that. New sections are as objcopy --add-section
// makes them: not loaded, with alignment 1. The result can be edited further; write it while f is
// open.
//
// If f is linked and loads its .BTF, the kernel reads the number of bytes that the linker counted
// (__stop_BTF - __start_BTF), and refuses BTF that does not fill them. So another size is an error.
// But an empty .BTF, which lld leaves if no input has one, counts as none.
//
// BTF without a base in a kernel module is an error: the kernel would read its ids as ids of
// vmlinux's BTF.
func Into(f *elf.File, types, base *Blob) (*elfwrite.Edit, error) {
	if n := loaded(f); n > 0 && n != uint64(len(types.Data)) {
		return nil, fmt.Errorf("%s: the linker reserved %d bytes for the BTF that the kernel loads, "+
			"but %s has %d: make an object of it with btfdedup embed --object, and link the kernel with "+
			"that", f.Path, n, types.Path, len(types.Data))
	}
	if base == nil && types.alone && f.IsModule() {
		return nil, fmt.Errorf("%s: BTF without a base, but %s is a kernel module: make its BTF with "+
			"--base, the kernel's BTF", types.Path, f.Path)
	}
	edit, _, err := Over(f, types, base)
	return edit, err
}

// Over is Into for programs that read only sections. If a linked file loads BTF of another size,
// the new BTF is put into a section .BTF that is not loaded; the loaded bytes stay, and beside is
// true.
func Over(f *elf.File, types, base *Blob) (edit *elfwrite.Edit, beside bool, err error) {
	if err := types.checkOrder(f); err != nil {
		return nil, false, err
	}
	if base != nil && !f.Relocatable() {
		return nil, false, fmt.Errorf("%s: linked (%s); a distilled base is for modules", f.Path, f.Type)
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
	beside = other && old.Size > 0
	if base == nil {
		return edit, beside, edit.Remove(btf.SectionBase)
	}
	if err := base.checkOrder(f); err != nil {
		return nil, false, err
	}
	return edit, beside, edit.Set(elfwrite.Section{Name: btf.SectionBase, Data: base.Data})
}

func loaded(f *elf.File) uint64 {
	old := f.Section(btf.SectionTypes)
	if old == nil || !old.Alloc() || f.Relocatable() {
		return 0
	}
	return old.Size
}

// Object returns a relocatable ELF file for f's machine and ABI, with types as a loaded .BTF. The
// kernel's scripts/gen-btf.sh makes such an object with the compiler, objcopy and dd, and links
// vmlinux with it. The kernel's linker script puts __start_BTF and __stop_BTF around it.
func Object(f *elf.File, types *Blob) ([]byte, error) {
	if err := types.checkOrder(f); err != nil {
		return nil, err
	}
	o := elfwrite.Like(f)
	o.Sections = []elfwrite.Section{{Name: btf.SectionTypes, Data: types.Data, Alloc: true}}
	return o.Bytes()
}
