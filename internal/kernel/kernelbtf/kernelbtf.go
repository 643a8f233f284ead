// Package kernelbtf finds the BTF in the files in which kernels and modules are shipped: bootable
// images, ELF files and raw BTF, compressed or not, and tar archives of such files, like those of
// BTFHub (RELEASE.btf.tar.xz).
package kernelbtf

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/kernelimage"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// File is BTF, with the place where it was found.
type File struct {
	// Label is for error messages. It names the file and says how the BTF was packed, as in "vmlinuz
	// (bzImage, zstd)".
	Label string
	// Member is the file's name in a tar archive, or "" if it is not in one.
	Member string
	Data   []byte
}

// Read returns the BTF in the file at a path. A compressed part may decompress to at most
// maxDecompressed bytes (see kernelimage.Unpack). Read returns an error for a tar archive. Errors
// name the file.
func Read(file string, maxDecompressed int) (File, error) {
	list, err := readAll(file, maxDecompressed, false)
	if err != nil {
		return File{}, err
	}
	return list[0], nil
}

// ReadAll is like Read, but accepts a tar archive: it returns the BTF of each file in the archive,
// in order.
func ReadAll(file string, maxDecompressed int) ([]File, error) {
	return readAll(file, maxDecompressed, true)
}

func readAll(file string, maxDecompressed int, tars bool) ([]File, error) {
	f, data, err := btf.Open(file)
	if err != nil {
		return nil, err
	}
	if f != nil {
		defer f.Close()
		f.MaxDecompressed = maxDecompressed
		found, err := ofELF(f, false)
		return label(File{Label: file, Data: bytes.Clone(found)}, err)
	}
	content, err := kernelimage.Unpack(file, data, maxDecompressed)
	if err != nil {
		return nil, err
	}
	if content.Form != kernelimage.Tar || !tars {
		found, err := contentBTF(content, content.Label != file, maxDecompressed)
		return label(File{Label: content.Label, Data: found}, err)
	}
	return readTar(content, maxDecompressed, kernelimage.Limit(len(data), maxDecompressed))
}

func label(f File, err error) ([]File, error) {
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Label, err)
	}
	return []File{f}, nil
}

// readTar returns the BTF of each regular file of a tar archive. All of them together may have
// limit bytes when decompressed.
func readTar(content kernelimage.Content, maxDecompressed, limit int) ([]File, error) {
	var list []File
	budget := kernelimage.Budget{Limit: int64(limit)}
	for r := tar.NewReader(bytes.NewReader(content.Data)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", content.Label, err)
		}
		switch h.Typeflag {
		case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse:
		default:
			continue
		}
		if h.Size > int64(len(content.Data)) {
			return nil, fmt.Errorf("%s: %s has %d bytes, more than the whole "+
				"archive", content.Label, h.Name,
				h.Size)
		}
		data := make([]byte, h.Size)
		if _, err := io.ReadFull(r, data); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", content.Label, h.Name, err)
		}
		inner, err := kernelimage.Unpack(content.Label+": "+h.Name, data, maxDecompressed)
		if err != nil {
			return nil, err
		}
		if err := budget.Spend(inner.Decompressed); err != nil {
			return nil, fmt.Errorf("%s: %w", content.Label, err)
		}
		found, err := contentBTF(inner, true, maxDecompressed)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", inner.Label, err)
		}
		list = append(list, File{Label: inner.Label, Member: path.Clean(h.Name), Data: found})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: a tar archive without files", content.Label)
	}
	return list, nil
}

// contentBTF returns the BTF of an unpacked file. See noSection for packed.
func contentBTF(c kernelimage.Content, packed bool, maxDecompressed int) ([]byte, error) {
	if c.Form != kernelimage.ELF {
		return plain(c)
	}
	f, err := elf.Parse(c.Label, c.Data)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	f.MaxDecompressed = maxDecompressed
	return ofELF(f, packed)
}

// ofELF returns the BTF in an ELF file. See noSection for packed.
func ofELF(f *elf.File, packed bool) ([]byte, error) {
	if err := btf.Detached(f, btf.SectionTypes); err != nil {
		return nil, err
	}
	if f.Section(btf.SectionBase) != nil {
		return nil, errors.New("its BTF is based on its own distilled base (section .BTF.base), " +
			"so its ids match no kernel; relocate it to the BTF of a kernel with btfdedup relocate")
	}
	data, err := btf.Section(f, btf.SectionTypes)
	if data != nil || err != nil {
		return data, err
	}
	return nil, noSection(f, packed)
}

// noSection returns the error for an ELF file without BTF. The parameter packed is true if the ELF
// file was inside another file, as the executable file of a kernel is inside its image.
func noSection(f *elf.File, packed bool) error {
	dwarf := f.Section(".debug_info") != nil
	option, what := "", ""
	switch {
	case f.IsModule():
		option, what = "CONFIG_DEBUG_INFO_BTF_MODULES", "module"
	case packed && !f.Relocatable(), f.Section("__ksymtab") != nil, f.Section(".init.text") != nil:
		option, what = "CONFIG_DEBUG_INFO_BTF", "kernel"
	case dwarf && f.Relocatable():
		return errors.New("no BTF (.BTF), but DWARF: it is an object file; convert it with btfgen " +
			"object, or as one of the srcs of vmlinux_btf, module_btf or btf_objects")
	case dwarf:
		return errors.New("no BTF (.BTF), but DWARF: make BTF from it with btfgen elf")
	default:
		return errors.New("no BTF (.BTF) and no DWARF (.debug_info): compile it with -g, and make " +
			"BTF from the DWARF with btfgen elf, or with btfgen object if it is an object file")
	}
	if dwarf {
		return fmt.Errorf("no BTF: the %s was built without %s; make BTF from its DWARF with "+
			"btfgen elf", what, option)
	}
	return noBTF(what, option)
}

// plain returns the BTF in a flat image or in raw BTF.
func plain(c kernelimage.Content) ([]byte, error) {
	if c.Form == kernelimage.Tar {
		return nil, errors.New("a tar archive, but one kernel was expected: unpack it first")
	}
	if len(c.Data) == 0 {
		return nil, message.Empty("BTF, or a file that contains BTF")
	}
	if c.Form != kernelimage.Flat {
		if !btf.HasMagic(c.Data) {
			return nil, fmt.Errorf("neither a supported kernel image, nor an ELF file, nor raw BTF (it "+
				"starts with %q); for other images, extract vmlinux first with scripts/extract-vmlinux "+
				"from the kernel source", c.Data[:min(4, len(c.Data))])
		}
		return c.Data, nil
	}
	data, err := kernelimage.FindBTF(c.Data)
	if data == nil && err == nil {
		err = noBTF("kernel", "CONFIG_DEBUG_INFO_BTF")
	}
	return data, err
}

func noBTF(what, option string) error {
	return fmt.Errorf("no BTF: the %s was built without %s; build it with that option, or run "+
		"btfgen elf on a vmlinux with DWARF from the same build", what, option)
}
