package loader

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"strings"
	"sync"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
)

// Kernel is what the verdict on a module depends on in the kernel. What isn't known is empty.
type Kernel struct {
	Label   string // the kernel's file, for messages
	Release string // as uname -r prints it

	vermagic string
	version  version
	image    bool // the kernel's image is known, not only its BTF
	reads    bool // the image reads the BTF of modules (CONFIG_DEBUG_INFO_BTF_MODULES)
	drops    bool // it loads a module without BTF that it rejects (CONFIG_MODULE_ALLOW_BTF_MISMATCH)
	forces   bool // it loads modules without vermagic (CONFIG_MODULE_FORCE_LOAD)
	machine  machine
	types    *btf.Blob // nil if the kernel has no BTF
	invalid  string    // why the kernel rejects its own BTF, or ""
	ownSize  uint32    // of struct module, in bytes; 0 if unknown

	namesOnce sync.Once
	names     map[string]bool // of the functions in types; filled in by isTaken
}

// machine is for which machine a file was compiled.
type machine struct {
	number   stdelf.Machine
	addrSize int // bytes; 0 if only the byte order is known
	order    binary.ByteOrder
}

// The header of an arm64 Image (Documentation/arch/arm64/booting.rst) has a magic number, in bytes.
const arm64Magic, arm64Header = 56, 64

func machineOf(f *elf.File) machine { return machine{f.Machine, f.AddrSize, f.Order} }

func (m machine) String() string {
	name := strings.ToLower(strings.TrimPrefix(m.number.String(), "EM_"))
	if m.order == binary.BigEndian {
		return name + " (big-endian)"
	}
	return name + " (little-endian)"
}

// These texts are in a kernel's image only if the code that prints them was compiled.
const (
	refusesText = "failed to validate module ["         // btf_module_notify
	dropsText   = "Kernel module BTF mismatch detected" // btf_module_notify
	forcesText  = "%s: %s: kernel tainted."             // try_to_force_load
)

// maxLine is the largest length, in bytes, of a text that may be the kernel's vermagic.
const maxLine = 512

// isMagicRest reports whether a vermagic can have text after the release.
func isMagicRest(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool {
		return c != '_' && c != ' ' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z')
	})
}

// NewKernel returns a kernel with the BTF in types, which is nil if the kernel has none. image is
// the kernel's memory, uncompressed, or nil if there is only its BTF. f is the image as an ELF
// file, or nil if the image isn't an ELF file. Errors don't name the kernel.
func NewKernel(label string, types, image []byte, f *elf.File) (*Kernel, error) {
	k := &Kernel{Label: label}
	k.search(image)
	switch {
	case f != nil:
		k.machine = machineOf(f)
	case len(image) >= arm64Header && string(image[arm64Magic:arm64Header-4]) == "ARM\x64":
		k.machine = machine{stdelf.EM_AARCH64, 8, binary.LittleEndian}
	}
	if types == nil {
		return k, nil
	}
	b, err := btf.Parse(types, nil)
	if err != nil {
		return nil, err
	}
	k.types, k.machine.order = b, b.Order
	boot := verify.Boot
	if found := verify.Check(b, verify.Options{Only: &boot}); len(found) > 0 {
		k.invalid = found[0].String()
	}
	for i := range b.Types {
		if t := &b.Types[i]; t.Kind == btf.KindStruct && b.TypeName(t) == "module" {
			k.ownSize = t.SizeOrType
			break
		}
	}
	return k, nil
}

// CutEnums is btf.Blob.CutEnums for the kernel's BTF.
func (k *Kernel) CutEnums() string {
	if k.types == nil {
		return ""
	}
	return k.types.CutEnums()
}

// search finds what the texts in a kernel's image say.
// Rule: loading: configuration and release of a kernel, from its image. Source: kernel
// linux_banner, btf_module_notify, try_to_force_load.
func (k *Kernel) search(image []byte) {
	k.image = image != nil
	k.drops = bytes.Contains(image, []byte(dropsText))
	k.reads = k.drops || bytes.Contains(image, []byte(refusesText))
	k.forces = bytes.Contains(image, []byte(forcesText))
	k.Release = elf.BannerRelease(image)
	k.version = parseVersion(k.Release)
	if k.Release == "" {
		return
	}
	for text := range after(image, k.Release+" ") {
		if isMagicRest(text) && strings.Contains(" "+text, " mod_unload ") {
			k.vermagic = k.Release + " " + text
			break
		}
	}
}

// after yields what follows each occurrence of a text in an image, up to the next NUL.
func after(image []byte, text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for {
			at := bytes.Index(image, []byte(text))
			if at < 0 {
				return
			}
			image = image[at+len(text):]
			rest, _, _ := bytes.Cut(image[:min(len(image), maxLine)], []byte{0})
			if !yield(string(rest)) {
				return
			}
		}
	}
}
