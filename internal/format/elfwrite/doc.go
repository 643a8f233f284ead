// Package elfwrite writes ELF files: small relocatable files whose sections are plain data
// (Object), and copies of existing files in which sections are replaced, added or removed (Edit).
//
// The result of objcopy --update-section depends on objcopy's version: some versions move the
// loaded sections of a linked file, others lay out the unloaded ones anew each time. The output of
// this package depends only on its input. Replacing the .BTF of a module twice gives the same bytes
// as replacing it once:
//
//	edit, err := elfwrite.NewEdit(module)
//	err = edit.Set(elfwrite.Section{Name: ".BTF", Data: types})
//	err = edit.Write(out)
package elfwrite
