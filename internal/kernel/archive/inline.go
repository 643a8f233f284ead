package archive

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// inlineSuffix ends the names of files with sites, as in /sys/kernel/btf/vmlinux.inline.
const inlineSuffix = ".inline"

// SitesOf returns the name of the file whose sites of inlined functions are in the file with the
// given name, and on which that file is based: vmlinux for vmlinux.inline. It returns "" if the
// name is not that of such a file.
func SitesOf(name string) string {
	of, ok := strings.CutSuffix(name, inlineSuffix)
	if !ok {
		return ""
	}
	return of
}

// addSections makes parts of the sections .BTF.inline of ELF files. Such a section of a module with
// a distilled base is left out, because it can't be relocated.
func addSections(parts []part) []part {
	for _, p := range parts {
		if p.err == nil && len(p.source.inline) > 0 && p.source.distilled == nil {
			parts = append(parts, part{name: p.name + inlineSuffix, raw: p.source.inline,
				source: &source{file: p.source.file}})
		}
	}
	return parts
}

// checkSites checks that there is a module, or vmlinux, for each file with sites.
func (b *builder) checkSites() error {
	for i := range b.parts {
		p := &b.parts[i]
		of := SitesOf(p.name)
		if of == "" {
			continue
		}
		if of != Vmlinux && b.module(of) == nil {
			return fmt.Errorf("%s: it has the sites of inlined functions of the module %s, but there is "+
				"no such module", p.file(), of)
		}
		if b.parts[b.ids[of]].source.distilled != nil {
			return fmt.Errorf("%s: the module %s has a distilled base, and sites of inlined functions "+
				"can't be relocated from such a base: leave out this file, or make both files with "+
				"vmlinux as the base", p.file(), of)
		}
		b.isBase[of] = true
	}
	return nil
}

// checkSection compares the section .BTF.inline of the image at path, if it has one, with the
// content of the file in the archive.
func checkSection(raw []byte, path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	inline, err := btf.Section(f, btf.SectionInline)
	if err != nil || inline == nil || bytes.Equal(inline, raw) {
		return wrap(path, err)
	}
	return fmt.Errorf("%s: section %s %w", path, btf.SectionInline, sameTypes(inline, raw))
}
