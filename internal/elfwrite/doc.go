// Package elfwrite writes ELF files: small relocatable ones whose sections are plain data, and
// copies of existing files with sections replaced or added.
//
// The output depends on the input alone, byte for byte.
package elfwrite
