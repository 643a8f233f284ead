package archive

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/kernel/btfids"
)

// Images are the kernel and the modules that use the BTF of an archive.
type Images struct {
	Vmlinux string // ELF file; "" for the file vmlinux in Modules, if there is one
	Modules string // directory with modules (*.ko) at any depth; "" for none
}

// maxWrong is how many wrong ids of a file are reported one by one.
const maxWrong = 20

// find returns the paths of the files, by the kernel's names for them.
func (x Images) find() (map[string][]string, error) {
	found := map[string][]string{}
	if x.Vmlinux != "" {
		if _, err := os.Stat(x.Vmlinux); err != nil {
			return nil, err
		}
		found[Vmlinux] = []string{x.Vmlinux}
	}
	if x.Modules == "" {
		return found, nil
	}
	rels, err := Below(x.Modules, func(rel string) bool {
		_, isModule := moduleFile(rel)
		return isModule || rel == Vmlinux && x.Vmlinux == ""
	})
	for _, rel := range rels {
		name, isModule := moduleFile(rel)
		if !isModule {
			name = Vmlinux
		}
		found[name] = append(found[name], filepath.Join(x.Modules, rel))
	}
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s: the directory has neither *.ko files nor vmlinux", x.Modules)
	}
	return found, err
}

// moduleFile returns the name of the module in a file, and whether it is a module. A compressed one
// counts: the error of reading it says what to do.
func moduleFile(path string) (string, bool) {
	for _, suffix := range []string{".gz", ".xz", ".zst"} {
		path = strings.TrimSuffix(path, suffix)
	}
	return Name(path), strings.HasSuffix(path, ".ko")
}

// checkImage compares the image at path with f, whose content is raw.
func checkImage(f *checked, l *layer, raw []byte, path string) error {
	file, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	var s source
	if err := s.readParts(file); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if name := Name(s.module); s.module != "" && name != f.Name {
		return fmt.Errorf("%s: this is the module %s", path, name)
	}
	types, err := compareTypes(&s, l, raw)
	if err != nil {
		f.report("%s %v", path, err)
	}
	if types == nil {
		return nil
	}
	wrong, err := btfids.Check(file, types)
	if err != nil {
		return err // which names the file
	}
	for i, w := range wrong {
		if i == maxWrong {
			f.report("%s: section %s: %d more wrong ids", path, btfids.SectionName, len(wrong)-i)
			break
		}
		f.report("%s: %v", path, w)
	}
	return nil
}

// compareTypes compares the BTF of an ELF file with that of the archive. It returns the types whose
// ids the file has. With a distilled base, those are the types on it, because the kernel relocates
// the ids when it loads the module (btf_relocate_id).
func compareTypes(s *source, l *layer, raw []byte) (*btf.Blob, error) {
	if s.distilled == nil {
		if s.raw == nil {
			return l.blob, nil
		}
		return l.blob, sameTypes(s.raw, raw)
	}
	if s.raw == nil || l.on == nil {
		return nil, fmt.Errorf("has a section %s, which only goes with the %s of a module",
			btf.SectionBase, btf.SectionTypes)
	}
	moved, err := putOn(s, l.on.blob)
	if err != nil {
		return nil, fmt.Errorf("holds BTF that doesn't fit the archive: %w", err)
	}
	distilled, err := btf.Parse(s.distilled, nil)
	if err != nil {
		return nil, err
	}
	types, err := btf.Parse(s.raw, distilled)
	if err != nil {
		return nil, err
	}
	return types, sameTypes(moved, raw)
}

func sameTypes(has, want []byte) error {
	if bytes.Equal(has, want) {
		return nil
	}
	return fmt.Errorf("holds other BTF than the archive: %d bytes with SHA-256 %x, not %d with %x",
		len(has), sha256.Sum256(has), len(want), sha256.Sum256(want))
}

// checkOthers reports the images that need BTF, but are not in the manifest.
func (c *checker) checkOthers() {
	for _, name := range slices.Sorted(maps.Keys(c.images)) {
		for _, path := range c.images[name] {
			if c.files[name] == nil {
				if err := needsNothing(path); err != nil {
					c.report("%s: %v", name, err)
				}
			}
		}
	}
}

func needsNothing(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, name := range []string{btf.SectionTypes, btfids.SectionName} {
		if s := f.Section(name); s != nil && s.Size > 0 {
			return fmt.Errorf("%s has a section %s, and the manifest has no such file", path, name)
		}
	}
	return nil
}
