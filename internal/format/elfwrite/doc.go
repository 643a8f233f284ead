// Package elfwrite writes ELF files: small relocatable ones whose sections are plain data (Object),
// and copies of existing files with sections replaced, added or removed (Edit).
//
// The output depends on the input alone, byte for byte.
package elfwrite
