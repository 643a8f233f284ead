// Package elfwrite writes small relocatable ELF files whose sections are plain
// data, and puts sections into existing ELF files.
//
// The output depends on the input alone, byte for byte.
package elfwrite
