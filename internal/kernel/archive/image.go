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
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
)

// Images are the kernel and modules that use the BTF in an archive.
type Images struct {
	Vmlinux string // ELF file of the kernel; "" for the file vmlinux in Modules, if there is one
	Modules string // directory with modules (*.ko) at any depth; "" for none
}

// maxWrong is the number of wrong ids that are reported for a file.
const maxWrong = 20

// find returns the paths of the images, by the names that the kernel gives vmlinux and the modules.
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
		if !isModule || name == verify.VmlinuxModule {
			name = Vmlinux
		}
		found[name] = append(found[name], filepath.Join(x.Modules, rel))
	}
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s: the directory has neither *.ko files nor vmlinux; pass the "+
			"directory of the kernel's modules", x.Modules)
	}
	return found, err
}

// moduleFile returns the name of the module in a file, and whether the file is a module. Compressed
// modules also count: reading one fails with an error that says what to do.
func moduleFile(path string) (string, bool) {
	for _, suffix := range []string{".gz", ".xz", ".zst"} {
		path = strings.TrimSuffix(path, suffix)
	}
	return Name(path), strings.HasSuffix(path, ".ko")
}

// checkImage compares the image at path with the file f of the archive, whose content is raw.
// Rule: archive of a release: comparison with vmlinux and modules. Source: kernel btf_relocate_id.
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
	if name := Name(s.module); s.module != "" && name != f.Name && name != verify.VmlinuxModule {
		return fmt.Errorf("%s: it is the module %s, not vmlinux; pass vmlinux as --vmlinux", path, name)
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
		return err // err names the file
	}
	for i, w := range wrong {
		if i == maxWrong {
			f.report("%s: section %s: %d more ids are wrong", path, btfids.SectionName, len(wrong)-i)
			break
		}
		f.report("%s: %v", path, w)
	}
	return nil
}

// compareTypes compares the BTF of an ELF file with the BTF in the archive. It returns the BTF to
// which the ids in the file's .BTF_ids refer. If the base is distilled, this is the BTF before
// relocation: when the kernel loads the module, it also relocates these ids (btf_relocate_id).
func compareTypes(s *source, l *layer, raw []byte) (*btf.Blob, error) {
	if s.distilled == nil {
		if s.raw == nil {
			return l.blob, nil
		}
		return l.blob, sameTypes(s.raw, raw)
	}
	if s.raw == nil || l.on == nil {
		return nil, fmt.Errorf("has a section %s, but only modules with a section %s can have it",
			btf.SectionBase, btf.SectionTypes)
	}
	moved, err := putOn(l.on.blob, s.distilled, s.raw)
	if err != nil {
		return nil, fmt.Errorf("contains BTF that doesn't match the BTF of the archive: %w", err)
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
	return fmt.Errorf("differs from the BTF in the archive: it has %d bytes with SHA-256 %x, not "+
		"%d bytes with SHA-256 %x; "+remake, len(has), sha256.Sum256(has), len(want),
		sha256.Sum256(want))
}

// checkOthers reports images that need BTF but are not in the manifest.
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
			return fmt.Errorf("%s has a section %s, but the manifest doesn't list this file; "+
				remake, path, name)
		}
	}
	return nil
}
