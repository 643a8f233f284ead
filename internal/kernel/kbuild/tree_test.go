package kbuild

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

const objectCommand = `savedcmd_fs/fat/dir.o := gcc -Wp,-MMD,fs/fat/.dir.o.d -DX='"a b"' -g0 -c

source_fs/fat/dir.o := fs/fat/dir.c

deps_fs/fat/dir.o := \
  include/linux/slab.h \
`

const linkCommand = `savedcmd_vmlinux.o := ld -m elf_x86_64 -z noexecstack -r -o vmlinux.o ` +
	`-T .tmp_initcalls.lds --whole-archive vmlinux.a --no-whole-archive --start-group ./lib/lib.a ` +
	`--end-group ; ./tools/objtool/objtool --ibt --link vmlinux.o not.o`

func TestParseCommand(t *testing.T) {
	c := parseCommand(objectCommand)
	if c.source != "fs/fat/dir.c" || !slices.Contains(c.words, `-DX="a b"`) {
		t.Errorf("source %q, words %q", c.source, c.words)
	}
	if debug, known := hasDebug(c.words); debug || !known {
		t.Errorf("hasDebug: %v, %v", debug, known)
	}
	inputs := linkerInputs(parseCommand(linkCommand).words)
	if want := []string{"vmlinux.a", "./lib/lib.a"}; !slices.Equal(inputs, want) {
		t.Errorf("got %q, want %q", inputs, want)
	}
}

// fixture is a handmade tree.
type fixture struct{ programtest.Dir }

func newFixture(t *testing.T) fixture {
	t.Helper()
	programtest.Need(t, "gcc", "ar", "ld")
	return fixture{programtest.NewDir(t)}
}

// compile makes each object from a source with the same name.
func (f fixture) compile(objects ...string) {
	f.Helper()
	for _, o := range objects {
		source := strings.TrimSuffix(o, ".o") + ".c"
		f.Write(source, fmt.Sprintf("int of_%x;\n", o))
		f.Run("gcc", "-g", "-fno-lto", "-c", "-o", o, source)
	}
}

func (f fixture) thin(archive string, members ...string) {
	f.Helper()
	f.Run("ar", append([]string{"cDPrST", archive}, members...)...)
}

func (f fixture) link(file string, objects ...string) {
	f.Helper()
	f.Run("ld", append([]string{"-r", "-o", file}, objects...)...)
}

// kernel makes the files that all layouts have, and the objects from which vmlinux is linked.
func (f fixture) kernel() {
	f.compile("init/main.o", "kernel/fork.o", "kernel/sched/core.o", "lib/bcd.o", "lib/sort.o")
	f.thin("lib/lib.a", "lib/bcd.o", "lib/sort.o")
	f.link("vmlinux", "init/main.o", "kernel/fork.o", "kernel/sched/core.o", "lib/bcd.o",
		"lib/sort.o")
}

var kernelObjects = []string{"init/main.o", "kernel/fork.o", "kernel/sched/core.o", "lib/bcd.o",
	"lib/sort.o"}

// TestVmlinux reads the objects of vmlinux from trees of several releases and configurations.
func TestVmlinux(t *testing.T) {
	all := []string{"init/main.o", "kernel/fork.o", "kernel/sched/core.o"}
	for _, test := range []struct {
		name, from string
		more       []string // objects in addition to kernelObjects
		make       func(f fixture)
	}{
		{"map", "vmlinux.map", nil, func(f fixture) {
			f.Write("vmlinux.map", "Archive member included\n\ninit/main.o (--whole-archive)\n"+
				"kernel/fork.o\n    (--whole-archive)\nkernel/sched/core.o (x)\nlib/bcd.o (x)\n"+
				"lib/sort.o (x)\n\nLOAD .tmp_vmlinux2.kallsyms.o\n")
		}},
		{"map of lld", "vmlinux.map", nil, func(f fixture) {
			f.Write("vmlinux.map", "VMA LMA Size Align Out     In      Symbol\n"+
				" vmlinux.a(init/main.o):(.text)\n vmlinux.a(kernel/fork.o):(.text)\n"+
				" vmlinux.a(kernel/sched/core.o):(.text)\n lib/lib.a(bcd.o):(.text)\n"+
				" lib/lib.a(lib/sort.o):(.text)\n")
		}},
		{"CONFIG_X86_KERNEL_IBT with a map", "vmlinux.map and .vmlinux.o.cmd",
			[]string{".vmlinux.export.o"}, func(f fixture) {
				f.compile(".vmlinux.export.o")
				f.thin("vmlinux.a", all...)
				f.Write(".vmlinux.o.cmd", linkCommand)
				f.Write("vmlinux.map", "LOAD vmlinux.o\nLOAD .vmlinux.export.o\n")
			}},
		{"CONFIG_BUILTIN_MODULE_RANGES", "vmlinux.map and vmlinux.o.map", nil, func(f fixture) {
			f.Write("include/config/auto.conf", "CONFIG_VMLINUX_MAP=y\nCONFIG_BUILTIN_MODULE_RANGES=y\n")
			f.Write("vmlinux.map", "LOAD vmlinux.o\n")
			f.Write("vmlinux.o.map", "Archive member included\n\n"+strings.Join(kernelObjects, " (x)\n")+
				" (x)\n")
		}},
		{"without a map", ".vmlinux.o.cmd", []string{".vmlinux.export.o", "init/version-timestamp.o"},
			func(f fixture) {
				f.compile(".vmlinux.export.o", "init/version-timestamp.o")
				f.thin("vmlinux.a", all...)
				f.Write(".vmlinux.o.cmd", linkCommand)
			}},
		{"a map from an earlier build", ".vmlinux.o.cmd", nil, func(f fixture) {
			f.thin("vmlinux.a", all...)
			f.Write(".vmlinux.o.cmd", linkCommand)
			f.Write("vmlinux.map", "LOAD gone.o\n")
			f.Write("include/config/auto.conf", "CONFIG_64BIT=y\n")
		}},
		{"Linux 6.0, which has no vmlinux.a", ".vmlinux.o.cmd", nil, func(f fixture) {
			f.thin("init/built-in.a", "init/main.o")
			f.thin("kernel/built-in.a", "kernel/fork.o", "kernel/sched/core.o")
			f.Write(".vmlinux.o.cmd", "cmd_vmlinux.o := ld -r -o vmlinux.o --whole-archive "+
				"init/built-in.a kernel/built-in.a --no-whole-archive --start-group lib/lib.a --end-group")
		}},
		{"vmlinux.a alone", "vmlinux.a", nil, func(f fixture) { f.thin("vmlinux.a", all...) }},
		{"Linux 5.15", "built-in.a", []string{"arch/x86/kernel/head64.o"}, func(f fixture) {
			f.compile("arch/x86/kernel/head64.o", "arch/x86/boot/compressed/misc.o",
				"drivers/firmware/efi/libstub/file.o")
			f.Write("arch/x86/kernel/vmlinux.lds", "")
			f.thin("arch/x86/boot/compressed/built-in.a", "arch/x86/boot/compressed/misc.o")
			f.thin("drivers/firmware/efi/libstub/lib.a", "drivers/firmware/efi/libstub/file.o")
			f.thin("init/built-in.a", "init/main.o")
			f.thin("kernel/sched/built-in.a", "kernel/sched/core.o")
			f.thin("kernel/built-in.a", "kernel/fork.o", "kernel/sched/built-in.a")
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t)
			f.kernel()
			test.make(f)
			tree := must.Get(Read(f.Path(""), Options{}))(t)
			got, want := slices.Sorted(slices.Values(tree.Vmlinux.Objects)),
				slices.Sorted(slices.Values(append(slices.Clone(test.more), kernelObjects...)))
			if !slices.Equal(got, want) {
				t.Errorf("got %q\nwant %q", got, want)
			}
			if tree.Vmlinux.From != test.from {
				t.Errorf("from %q, want %q", tree.Vmlinux.From, test.from)
			}
			if len(tree.Missing) > 0 {
				t.Errorf("no objects for the sources %q", tree.Missing)
			}
		})
	}
}

// TestMissing: vmlinux was made from a source file for which there is no object.
func TestMissing(t *testing.T) {
	f := newFixture(t)
	f.kernel()
	f.thin("vmlinux.a", "init/main.o", "kernel/fork.o")
	tree, err := Read(f.Path(""), Options{})
	if err != nil || !slices.Equal(tree.Missing, []string{"core.c"}) {
		t.Errorf("got %q, %v", tree.Missing, err)
	}
}

// TestSkipped: objects without DWARF are left out, with a reason.
func TestSkipped(t *testing.T) {
	f := newFixture(t)
	f.kernel()
	f.Run("gcc", "-g0", "-c", "-o", "kernel/bounds.o", "kernel/fork.c")
	f.Write("kernel/.bounds.o.cmd", strings.ReplaceAll(objectCommand, "fs/fat/dir", "kernel/bounds"))
	f.Write("kernel/entry.S", "nop\n")
	f.Run("gcc", "-c", "-o", "kernel/entry.o", "kernel/entry.S")
	f.Write("kernel/.entry.o.cmd", "savedcmd_kernel/entry.o := gcc -c\nsource_kernel/entry.o := "+
		"kernel/entry.S\n")
	f.thin("vmlinux.a", "init/main.o", "kernel/bounds.o", "kernel/entry.o")
	tree := must.Get(Read(f.Path(""), Options{}))(t)
	want := []Skipped{
		{"kernel/bounds.o", "no DWARF: compiled with -g0, kernel/bounds.c"},
		{"kernel/entry.o", "no DWARF: assembler, kernel/entry.S"},
	}
	if !slices.Equal(tree.Skipped, want) {
		t.Errorf("got %q", tree.Skipped)
	}
	if slices.Contains(tree.Vmlinux.Objects, "kernel/entry.o") {
		t.Error("kernel/entry.o is among the objects")
	}
}

// TestCompilerBTF includes objects with BTF from the compiler, but not the object with the kernel's
// BTF.
func TestCompilerBTF(t *testing.T) {
	f := newFixture(t)
	f.kernel()
	f.Write("blob", "BTF, which isn't looked at")
	for _, o := range []string{"kernel/bounds.o", ".tmp_vmlinux1.btf.o", ".btf.vmlinux.bin.o"} {
		f.Run("gcc", "-g0", "-c", "-o", o, "kernel/fork.c")
		f.Run("objcopy", "--add-section", ".BTF=blob", o)
	}
	f.thin("vmlinux.a", "init/main.o", "kernel/bounds.o", ".tmp_vmlinux1.btf.o", ".btf.vmlinux.bin.o")
	tree := must.Get(Read(f.Path(""), Options{}))(t)
	for o, want := range map[string]bool{"init/main.o": true, "kernel/bounds.o": true,
		".tmp_vmlinux1.btf.o": false, ".btf.vmlinux.bin.o": false} {
		if got := slices.Contains(tree.Vmlinux.Objects, o); got != want {
			t.Errorf("%s: %v, want %v", o, got, want)
		}
	}
}

// TestArchive: an archive that is not thin is converted as a whole.
func TestArchive(t *testing.T) {
	f := newFixture(t)
	f.kernel()
	f.Run("ar", "cr", "lib/lib2.a", "lib/bcd.o", "lib/sort.o")
	f.Write(".vmlinux.o.cmd", "cmd_vmlinux.o := ld -r -o vmlinux.o init/main.o lib/lib2.a")
	tree, err := Read(f.Path(""), Options{})
	if want := []string{"init/main.o", "lib/lib2.a"}; err != nil ||
		!slices.Equal(tree.Vmlinux.Objects, want) {
		t.Errorf("got %+v, %v", tree, err)
	}
}

// TestModules reads modules from trees of several releases, and from directories of modules.
func TestModules(t *testing.T) {
	fat := []string{"fs/fat/cache.o", "fs/fat/dir.o", "fs/fat/fat.mod.o"}
	for _, test := range []struct {
		name string
		want Linked
		make func(f fixture)
	}{
		{"today", Linked{Name: "fat", Path: "fs/fat/fat.ko", Objects: append(slices.Clone(fat),
			".module-common.o")}, func(f fixture) {
			f.compile(".module-common.o")
			f.Write("modules.order", "fs/fat/fat.o\n")
			f.Write("fs/fat/fat.mod", "fs/fat/cache.o\nfs/fat/dir.o\n")
			f.Write("fs/fat/.fat.ko.cmd", "savedcmd_fs/fat/fat.ko := ld -r -T s.lds -o fs/fat/fat.ko "+
				"fs/fat/fat.o fs/fat/fat.mod.o .module-common.o")
		}},
		{"Linux 5.15", Linked{Name: "fat", Path: "fs/fat/fat.ko", Objects: fat}, func(f fixture) {
			f.Write("modules.order", "fs/fat/fat.ko\n")
			f.Write("fs/fat/fat.mod", "fs/fat/cache.o fs/fat/dir.o\nprintk kfree\n")
		}},
		{"Linux 5.3, which has no .mod", Linked{Name: "fat", Path: "fs/fat/fat.ko", Objects: fat},
			func(f fixture) {
				f.Write("modules.order", "kernel/fs/fat/fat.ko\n")
				f.Write("fs/fat/.fat.o.cmd", "cmd_fs/fat/fat.o := ld -r -o fs/fat/fat.o "+
					"fs/fat/cache.o fs/fat/dir.o")
			}},
		{"one object", Linked{Name: "fat", Path: "fs/fat/fat.ko", Objects: []string{"fs/fat/fat.o",
			"fs/fat/fat.mod.o"}}, func(f fixture) {
			f.Write("modules.order", "fs/fat/fat.o\nfs/fat/fat.o\n")
			f.Write("fs/fat/.fat.o.cmd", "cmd_fs/fat/fat.o := gcc -c\nsource_fs/fat/fat.o := f.c")
		}},
		{"KBUILD_EXTMOD before 6.13, moved since", Linked{Name: "fat", Path: "fs/fat/fat.ko",
			Objects: fat}, func(f fixture) {
			f.Write("modules.order", "/build/x/fs/fat/fat.o\n")
			f.Write("fs/fat/fat.mod", "/build/x/fs/fat/cache.o\n/build/x/fs/fat/dir.o\n")
			f.Write("fs/fat/.fat.ko.cmd", "cmd_/build/x/fs/fat/fat.ko := ld -r -o "+
				"/build/x/fs/fat/fat.ko /build/x/fs/fat/fat.o /build/x/fs/fat/fat.mod.o;  true")
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t)
			f.compile("fs/fat/cache.o", "fs/fat/dir.o", "fs/fat/fat.mod.o")
			f.link("fs/fat/fat.o", "fs/fat/cache.o", "fs/fat/dir.o")
			f.link("fs/fat/fat.ko", "fs/fat/fat.o", "fs/fat/fat.mod.o")
			test.make(f)
			tree := must.Get(Read(f.Path(""), Options{}))(t)
			if len(tree.Modules) != 1 || tree.Vmlinux != nil {
				t.Fatalf("got %+v", tree)
			}
			if got := tree.Modules[0]; got.Name != test.want.Name || got.Path != test.want.Path ||
				!slices.Equal(got.Objects, test.want.Objects) {
				t.Errorf("got %+v\nwant %+v", got, test.want)
			}
		})
	}
}

// TestBitcode reads a kernel with CONFIG_LTO_CLANG, for which only linked files can be used.
func TestBitcode(t *testing.T) {
	f := newFixture(t)
	f.kernel()
	f.Write("kernel/fork.o", "BC\xc0\xde and more")
	f.thin("vmlinux.a", "init/main.o", "kernel/fork.o")
	f.Write("modules.order", "fs/fat/fat.o\n")
	f.Write("fs/fat/fat.ko", "")
	if _, err := Read(f.Path(""), Options{}); err == nil ||
		!strings.Contains(err.Error(), `vmlinux = "whole"`) {
		t.Errorf("got error %v", err)
	}
	tree, err := Read(f.Path(""), Options{NoObjects: true, Whole: true})
	if err != nil || tree.Vmlinux == nil || len(tree.Modules) != 1 {
		t.Errorf("got %+v, %v", tree, err)
	}
}

// TestSplitDWARF reads a kernel with CONFIG_DEBUG_INFO_SPLIT, whose objects have .dwo files.
func TestSplitDWARF(t *testing.T) {
	f := newFixture(t)
	f.kernel()
	f.Run("gcc", "-g", "-gsplit-dwarf", "-c", "-o", "init/main.o", "init/main.c")
	f.Run("objcopy", "--prefix-symbols=__pi_", "init/main.o", "init/main.pi.o")
	// as arm64 makes kvm_nvhe.o
	f.Run("gcc", "-g", "-gsplit-dwarf", "-c", "-o", "kernel/cpu.nvhe.o", "kernel/fork.c")
	f.Run("gcc", "-g", "-gsplit-dwarf", "-c", "-o", "kernel/../init/vgic.nvhe.o", "init/main.c")
	f.Run("ld", "-r", "-o", "kernel/hyp.rel.o", "kernel/cpu.nvhe.o", "init/vgic.nvhe.o")
	f.Run("objcopy", "--prefix-symbols=__kvm_nvhe_", "kernel/hyp.rel.o", "kernel/hyp.o")
	// fork.o was compiled without split DWARF
	f.thin("vmlinux.a", "init/main.o", "init/main.pi.o", "kernel/fork.o", "kernel/hyp.o")
	f.Write("kernel/exit.dwo", "of an object that isn't linked")
	f.Write("include/config/auto.conf", "CONFIG_DEBUG_INFO_SPLIT=y\n")
	tree := must.Get(Read(f.Path(""), Options{}))(t)
	want := map[string][]string{"init/main.o": {"init/main.dwo"},
		"init/main.pi.o": {"init/main.dwo"},
		"kernel/hyp.o":   {"kernel/cpu.nvhe.dwo", "init/vgic.nvhe.dwo"}}
	if !maps.EqualFunc(tree.DWOs, want, slices.Equal) ||
		!slices.Contains(tree.Vmlinux.Objects, "kernel/fork.o") {
		t.Errorf(".dwo files: %q, want %q; objects: %q", tree.DWOs, want, tree.Vmlinux.Objects)
	}
	for _, o := range []Options{{NoObjects: true}, {Whole: true}} {
		if _, err := Read(f.Path(""), o); err == nil ||
			!strings.Contains(err.Error(), "auto.conf: CONFIG_DEBUG_INFO_SPLIT=y") {
			t.Errorf("%+v: got error %v", o, err)
		}
	}
}

// TestErrors reads unusable trees. Each error is one line that names the file.
func TestErrors(t *testing.T) {
	for name, test := range map[string]struct {
		file, want string
		make       func(f fixture)
	}{
		"empty": {"", "neither vmlinux nor modules.order", func(fixture) {}},
		"an object that is gone": {"init/main.o",
			"missing, but vmlinux was linked from it", func(f fixture) {
				f.thin("vmlinux.a", "init/main.o")
				os.Remove(filepath.Join(f.Path(""), "init/main.o"))
			}},
		"no archives": {"vmlinux", "its objects are unknown", func(f fixture) {
			os.Remove(filepath.Join(f.Path(""), "lib/lib.a"))
		}},
		"a module that is not built": {"fs/fat/fat.ko", "make modules", func(f fixture) {
			f.thin("vmlinux.a", "init/main.o")
			f.Write("modules.order", "fs/fat/fat.o\n")
		}},
		"two modules of one name": {"modules.order", "fs/fat/fat.ko and fs/thin/fat.ko are both the " +
			"module fat, but the kernel loads only one: rename one", func(f fixture) {
			f.thin("vmlinux.a", "init/main.o")
			f.Write("modules.order", "fs/fat/fat.o\nfs/thin/fat.o\n")
			f.Write("fs/fat/fat.ko", "")
			f.Write("fs/fat/fat.mod", "init/main.o\n")
			f.Write("fs/thin/fat.ko", "")
		}},
		"a .mod without objects": {"fs/fat/fat.mod", "lists no objects", func(f fixture) {
			f.thin("vmlinux.a", "init/main.o")
			f.Write("modules.order", "fs/fat/fat.o\n")
			f.Write("fs/fat/fat.ko", "")
			f.Write("fs/fat/fat.mod", "\n")
		}},
		"a path that leads out": {"", "is outside the tree", func(f fixture) {
			f.Write(".vmlinux.o.cmd", "cmd_vmlinux.o := ld -r -o vmlinux.o ../secret.o")
		}},
		"a damaged archive": {"vmlinux.a", "make the archive again", func(f fixture) {
			f.Write("vmlinux.a", "!<thin>\ndamaged")
		}},
		"not an object": {"init/main.o", "not an ELF file", func(f fixture) {
			f.thin("vmlinux.a", "init/main.o")
			f.Write("init/main.o", "hello, world, this is text\n")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			if name != "empty" {
				f.kernel()
			}
			test.make(f)
			_, err := Read(f.Path(""), Options{})
			if err == nil || !strings.Contains(err.Error(), test.want) ||
				!strings.Contains(err.Error(), test.file) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got error %v", err)
			}
		})
	}
}
