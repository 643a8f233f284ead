// Package elfwrite writes ELF files: small relocatable ones whose sections are plain data (Object),
// and copies of existing files with sections replaced, added or removed (Edit).
//
// What objcopy --update-section does depends on its version, and moves what a linked file loads or
// lays out the rest anew at each call. Here the output depends on the input alone, byte for byte,
// and to replace the .BTF of a module twice gives what doing it once gives:
//
//	edit, err := elfwrite.NewEdit(module)
//	err = edit.Set(elfwrite.Section{Name: ".BTF", Data: types})
//	err = edit.Write(out)
package elfwrite
