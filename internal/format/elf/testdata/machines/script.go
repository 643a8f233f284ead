//go:build ignore

// Script prints a linker script that puts the sections of an object file where
// package elf puts them.
package main

import (
	"fmt"
	"os"

	"github.com/rules-btf/rules_btf/internal/format/elf"
)

func main() {
	f, err := elf.Open(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer f.Close()
	fmt.Println("SECTIONS {")
	for _, s := range f.Sections {
		if s.Alloc() {
			fmt.Printf("  %s %#x : { KEEP(*(%s)) }\n", s.Name, s.Addr, s.Name)
		}
	}
	// Sections that the linker adds must not disturb this layout.
	for i, name := range []string{".got", ".got.plt", ".plt", ".iplt", ".glink", ".toc", ".branch_lt",
		".dynamic"} {
		fmt.Printf("  %s %#x : { *(%s) }\n", name, 0x1000000+i*0x1000, name)
	}
	fmt.Println("}")
}
