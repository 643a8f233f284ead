package main

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// bytes counts the BTF of all modules: what they were shipped with, ours, and ours on a base of the
// types that repeat across them.
func (t *tree) bytes() error {
	shipped, err := t.shipped()
	if err != nil {
		return err
	}
	whole, shared := filepath.Join(t.dir, "whole"), filepath.Join(t.dir, "shared.btf")
	small := filepath.Join(t.dir, "small")
	modules := func(out string, base ...string) []string {
		argv := []string{t.tool("btfdedup"), "modules", "-q", "--lang-exclude=rust", "-o", out}
		return append(append(argv, base...), "@"+t.allList)
	}
	base := "--base=" + t.base
	for _, argv := range [][]string{
		modules(whole, base),
		{t.tool("btfdedup"), "shared", "-q", base, "-o", shared, whole},
		modules(small, base, "--base="+shared),
	} {
		if err := t.prepare(argv...); err != nil {
			return err
		}
	}
	ours, err := sizeOf(whole)
	if err != nil {
		return err
	}
	onShared, err := sizeOf(small, shared)
	if err != nil {
		return err
	}
	t.result.sizes = []size{{"as shipped", shipped}, {"rules_btf", ours},
		{"with a shared base", onShared}}
	if shipped == 0 {
		t.result.sizes = t.result.sizes[1:]
	}
	fmt.Fprintf(t.out, "\nBTF of all modules: %d bytes; with a shared base: %d bytes; as shipped: "+
		"%d bytes.\n", ours, onShared, shipped)
	for _, path := range []string{whole, shared, small} {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

// shipped counts the bytes of the modules' own sections .BTF.
func (t *tree) shipped() (int64, error) {
	var n int64
	for _, path := range t.all {
		f, err := elf.Open(path)
		if err != nil {
			return 0, err
		}
		if s := f.Section(".BTF"); s != nil {
			n += int64(s.Size)
		}
		f.Close()
	}
	return n, nil
}

// sizeOf counts the bytes of files and of the files in directories.
func sizeOf(paths ...string) (int64, error) {
	var n int64
	for _, path := range paths {
		err := filepath.Walk(path, func(_ string, info os.FileInfo, err error) error {
			if err == nil && info.Mode().IsRegular() {
				n += info.Size()
			}
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}

// release is a kernel's release if the path of its vmlinux has it, else the path.
func release(vmlinux string) string {
	return strings.TrimPrefix(inputName(vmlinux), filepath.Base(vmlinux)+" of ")
}
