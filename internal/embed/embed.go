package embed

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/elf"
	"github.com/rules-btf/rules_btf/internal/elfwrite"
)

// Into returns f with types as .BTF and base, unless nil, as .BTF.base; without base a .BTF.base of
// f goes away, because types don't stand on that. Sections that are new are as objcopy's
// --add-section makes them: not loaded, of alignment 1. The result can be edited further, and is to
// be written while f is open.
//
// If f is linked and loads its .BTF, the kernel reads as many bytes as the linker counted
// (__stop_BTF - __start_BTF), and refuses BTF that does not fill them. So another size is an error.
// But an empty .BTF, which lld leaves where nothing was linked into it, counts as none.
func Into(f *elf.File, types, base *Blob) (*elfwrite.Edit, error) {
	if err := types.checkOrder(f); err != nil {
		return nil, err
	}
	if base != nil && !f.Relocatable() {
		return nil, fmt.Errorf("%s: linked (%s); a distilled base is for modules", f.Path, f.Type)
	}
	old := f.Section(btf.SectionTypes)
	loaded := old != nil && old.Alloc() && !f.Relocatable()
	if loaded && old.Size != 0 && old.Size != uint64(len(types.Data)) {
		return nil, fmt.Errorf("%s: the linker has made room for %d bytes of BTF, which the kernel "+
			"loads, and %s has %d: make an object of it with btfdedup embed --object, and link the "+
			"kernel with that", f.Path, old.Size, types.Path, len(types.Data))
	}
	edit, err := elfwrite.NewEdit(f)
	if err != nil {
		return nil, err
	}
	if loaded && old.Size == 0 {
		if err := edit.Unload(btf.SectionTypes); err != nil {
			return nil, err
		}
	}
	if err := edit.Set(elfwrite.Section{Name: btf.SectionTypes, Data: types.Data}); err != nil {
		return nil, err
	}
	if base == nil {
		return edit, edit.Remove(btf.SectionBase)
	}
	if err := base.checkOrder(f); err != nil {
		return nil, err
	}
	return edit, edit.Set(elfwrite.Section{Name: btf.SectionBase, Data: base.Data})
}

// Object returns a relocatable ELF file for the machine and ABI that f is for, with types as .BTF
// that is loaded: what scripts/gen-btf.sh of the kernel makes with the compiler, objcopy and dd for
// vmlinux to be linked with. The kernel's linker script puts __start_BTF and __stop_BTF around it.
func Object(f *elf.File, types *Blob) ([]byte, error) {
	if err := types.checkOrder(f); err != nil {
		return nil, err
	}
	o := elfwrite.Like(f)
	o.Sections = []elfwrite.Section{{Name: btf.SectionTypes, Data: types.Data, Alloc: true}}
	return o.Bytes()
}
