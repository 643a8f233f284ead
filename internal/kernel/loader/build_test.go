package loader

import (
	"bytes"
	"os"
	"testing"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/debugfile"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/format/splitdwarf"
	"github.com/rules-btf/rules_btf/internal/kernel/resolveids"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/pipeline"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// header is part of a kernel and of its modules.
const header = `
#ifndef RELEASE
#define RELEASE "7.2.1"
#endif
#ifndef MAGIC
#define MAGIC " SMP mod_unload "
#endif
#define TEXT(section_name) __attribute__((used, section(section_name)))
struct module { char name[56]; long state; EXTRA };
struct device { int irq; SIZE void *driver; };
enum mode { OFF, ON };
typedef unsigned long size_type;
`

// kernelSource has the texts that are in a kernel's image. FIRST adds types, so that the ids of all
// other types change.
const kernelSource = header + `
FIRST
const char banner[] TEXT(".rodata") = "Linux version " RELEASE " (gcc) #1 SMP";
const char vermagic[] TEXT(".rodata") = RELEASE MAGIC;
#ifndef IGNORES
const char message[] TEXT(".rodata") =
#ifdef DROPS
	"Kernel module BTF mismatch detected, BTF debug info may be unavailable for some modules\n";
#else
	"failed to validate module [%s] BTF: %ld\n";
#endif
#endif
struct module *first_module;
size_type start(struct device *d, enum mode mode) { return d->irq + mode; }
void _start(void) { start(0, 0); }
`

// moduleSource is a module with a kfunc, and with the id of a type of the kernel.
const moduleSource = header + `
#define WORD(symbol, rest) asm(".pushsection .BTF_ids,\"a\"\n.local " #symbol "\n.type " #symbol \
	", STT_OBJECT\n.size " #symbol ", 4\n" #symbol ": .zero 4\n" rest ".popsection\n")
struct module this TEXT(".gnu.linkonce.this_module") = { NAME };
#ifndef NO_MAGIC
const char info[] TEXT(".modinfo") = "license=GPL\0vermagic=" RELEASE MAGIC "\0name=" NAME;
#endif
#ifdef CRCS
const char versions[64] TEXT("__versions");
#endif
struct own { struct device device[2]; enum mode mode; };
size_type FUNCTION(struct own *own, struct device *d) { return own->device[0].irq + d->irq; }
#ifdef IDS
WORD(__BTF_ID__struct__device__1, "");
asm(".pushsection .BTF_ids,\"a\"\n.local __BTF_ID__set8__kfuncs\n__BTF_ID__set8__kfuncs: "
	".zero 4\n.long 1\n.popsection\n");
WORD(__BTF_ID__func__probe__2, ".long 4\n");
asm(".pushsection .BTF_ids,\"a\"\n.size __BTF_ID__set8__kfuncs, . - __BTF_ID__set8__kfuncs\n"
	".popsection\n");
#endif
`

// builder builds kernels and modules from C.
type builder struct {
	t   *testing.T
	dir programtest.Dir
}

func newBuilder(t *testing.T) *builder {
	programtest.Need(t, "gcc", "ld")
	return &builder{t, programtest.NewDir(t)}
}

func (b *builder) check(err error) {
	b.t.Helper()
	must.OK(b.t, err)
}

// compile compiles a source with macros, which replace the defaults, and returns the path.
func (b *builder) compile(source string, macros []string) string {
	b.t.Helper()
	b.dir.Write("x.c", source)
	args := []string{"-g", "-O1", "-w", "-fno-pic", "-ffreestanding",
		"-fno-asynchronous-unwind-tables", "-fno-eliminate-unused-debug-types", "-c", "-o", "x.o",
		"-DEXTRA=", "-DSIZE=", "-DFIRST=", "-DNAME=\"m\"", "-DFUNCTION=probe"}
	for _, m := range macros {
		args = append(args, "-D"+m)
	}
	b.dir.Run("gcc", append(args, "x.c")...)
	return b.dir.Path("x.o")
}

// types converts the DWARF of a linked file, on the base on, which may be nil.
func (b *builder) types(path string, on *btf.Blob) []byte {
	b.t.Helper()
	bases := new(base.Files)
	if on != nil {
		data, err := btf.Encode(on, btf.EncodeOptions{})
		b.check(err)
		bases, err = bases.With(data)
		b.check(err)
	}
	options := convert.Options{Features: features.Default(), Jobs: 1,
		SplitDWARF: new(splitdwarf.Finder)}
	how := pipeline.How{Files: new(debugfile.Search), Bases: bases, Convert: options}
	result, err := pipeline.Linked(path, how)
	b.check(err)
	return result.BTF
}

// kernel builds a kernel and its BTF.
func (b *builder) kernel(macros ...string) (k *Kernel, image, types []byte) {
	b.t.Helper()
	b.compile(kernelSource, macros)
	b.dir.Run("ld", "-o", "vmlinux", "x.o")
	types = b.types(b.dir.Path("vmlinux"), nil)
	image, err := os.ReadFile(b.dir.Path("vmlinux"))
	b.check(err)
	f, err := elf.Parse("vmlinux", image)
	b.check(err)
	k, err = NewKernel("vmlinux", types, image, f)
	b.check(err)
	return k, image, types
}

// module builds a module for a kernel, with its BTF in the section .BTF.
func (b *builder) module(on *Kernel, macros ...string) []byte {
	b.t.Helper()
	f, err := elf.Open(b.compile(moduleSource, macros))
	b.check(err)
	defer f.Close()
	data := b.types(f.Path, on.types)
	edit, err := elfwrite.NewEdit(f)
	b.check(err)
	b.check(edit.Set(elfwrite.Section{Name: btf.SectionTypes, Data: data}))
	ids, err := resolveids.Find(f, func() (*btf.Blob, error) { return on.types, nil })
	b.check(err)
	if ids != nil {
		types, err := btf.Parse(data, on.types)
		b.check(err)
		_, err = ids.Into(edit, types, "m.btf")
		b.check(err)
	}
	var out bytes.Buffer
	b.check(edit.Write(&out))
	return out.Bytes()
}

// with replaces sections of a module; a section with nil content is removed.
func (b *builder) with(module []byte, sections map[string][]byte) []byte {
	b.t.Helper()
	f, err := elf.Parse("m.ko", module)
	b.check(err)
	edit, err := elfwrite.NewEdit(f)
	b.check(err)
	for name, data := range sections {
		if data == nil {
			b.check(edit.Remove(name))
		} else {
			b.check(edit.Set(elfwrite.Section{Name: name, Data: data}))
		}
	}
	var out bytes.Buffer
	b.check(edit.Write(&out))
	return out.Bytes()
}

// section returns the content of a section of a module.
func (b *builder) section(module []byte, name string) []byte {
	b.t.Helper()
	f, err := elf.Parse("m.ko", module)
	b.check(err)
	return bytes.Clone(f.Section(name).Raw())
}

func (b *builder) load(k *Kernel, module []byte) Verdict {
	b.t.Helper()
	f, err := elf.Parse("m.ko", module)
	if err != nil {
		return k.Load(Damaged("m.ko", "m.ko", err))
	}
	return k.Load(NewModule("m.ko", "m.ko", f))
}
