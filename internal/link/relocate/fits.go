package relocate

import (
	"errors"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Fits returns an error if split BTF was certainly made for a different base than b.Base: for
// another machine, or with ids and names that make no sense in this base (btf.Blob.CheckRefs). The
// error begins with the path of the BTF's file. BTF without a base fits.
// Rule: wrong base: when it is an error. docs/modules.md has a table.
func Fits(path string, b *btf.Blob) error {
	if b.Base == nil {
		return nil
	}
	if err := ForTarget(path, b.Origin, b.Base); err != nil {
		return err
	}
	if err := b.CheckRefs(); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
		if why := Doubt(b.Origin, b.Base); why != "" {
			err = fmt.Errorf("%w (%s)", err, why)
		}
		return message.Marked(err, ErrWrongBase)
	}
	return nil
}

// ForTarget returns an error if the file at path, an ELF file if of isn't zero, is for a different
// machine than base.
func ForTarget(path string, of btf.Origin, base *btf.Blob) error {
	if base == nil || of.Machine == 0 {
		return nil
	}
	own := object.Target{AddrSize: of.AddrSize, Machine: of.Machine}
	on, is := object.TargetOf(base).Differs(own)
	if on == "" {
		return nil
	}
	return WrongTarget(path, is, on)
}

// WrongTarget is the error for a file whose target differs from that of its base (Target.Differs).
func WrongTarget(path, is, on string) error {
	return message.Marked(fmt.Errorf("%s: it is %s, but the base is %s; use the BTF of the kernel that "+
		"it was built for", path, is, on), ErrWrongBase)
}

// ErrWrongBase is what errors.Is finds in the error for a base of another kernel or machine.
var ErrWrongBase = errors.New("the wrong base")

// Doubt returns why a file may not belong to base: it says that it was built for a kernel with
// another release. This isn't certain, as the kernel loads modules for other releases if they have
// checksums of the symbols that they use (same_magic in kernel/module/version.c), and their BTF may
// have been made anew. Doubt returns "" if it knows no reason.
// Rule: wrong base: when it is only a warning. The release differs. Source: kernel/module/version.c
// same_magic.
func Doubt(of btf.Origin, base *btf.Blob) string {
	for ; base != nil; base = base.Base {
		if base.Origin.Release != "" {
			return OtherRelease(of.Release, base.Origin.Release)
		}
	}
	return ""
}

// OtherRelease is Doubt for the releases of a file and of its base, which are "" if unknown.
func OtherRelease(of, base string) string {
	if of == "" || base == "" || of == base {
		return ""
	}
	return fmt.Sprintf("it was built for the kernel %s, but the base is the BTF of %s", of, base)
}
