package archive

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
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

// addSections adds a part for each section .BTF.inline of an ELF file.
func addSections(parts []part) []part {
	for _, p := range parts {
		if p.err == nil && len(p.source.inline) > 0 {
			of := p.name
			if of == verify.SitesModule {
				of = Vmlinux
			}
			parts = append(parts, part{name: of + inlineSuffix, raw: p.source.inline,
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
				"no such module; pass it too", p.file(), of)
		}
		b.isBase[of] = true
	}
	return nil
}

// withSites returns the images that may have the sites of vmlinux or of a module.
func (c *checker) withSites(of string) []string {
	switch of {
	case Vmlinux:
		return slices.Concat(c.images[Vmlinux], c.images[verify.SitesModule])
	case verify.SitesModule:
		return nil
	}
	return c.images[of]
}

// checkSection compares the section .BTF.inline of the image at path, if the image has one, with
// raw, the content of the file l of the archive.
func checkSection(l *layer, raw []byte, path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var s source
	if err := s.readParts(f); err != nil || s.inline == nil {
		return wrap(path, err)
	}
	if s.distilled != nil && s.raw != nil && l.on.on != nil {
		s.inline, err = putOn(l.on.on.blob, s.distilled, s.raw, s.inline)
	}
	if err == nil {
		err = sameTypes(s.inline, raw)
	}
	if err != nil {
		return fmt.Errorf("%s: section %s %w", path, btf.SectionInline, err)
	}
	return nil
}
