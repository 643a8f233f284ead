package kbuild

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const ldMap = `Archive member included to satisfy reference by file (symbol)

init/main.o                   (--whole-archive)
arch/x86/boot/startup/gdt_idt.pi.o
                              (--whole-archive)
lib/argv_split.o              init/main.o (argv_split)

Discarded input sections

 .text          0x0000000000000000        0x0 init/main.o

LOAD vmlinux.a
LOAD .vmlinux.export.o
LOAD init/version-timestamp.o
START GROUP
LOAD lib/lib.a
END GROUP
LOAD .tmp_vmlinux2.kallsyms.o
LOAD linker stubs
`

const lldMap = `             VMA              LMA     Size Align Out     In      Symbol
               0                0        0     1 jiffies = jiffies_64
ffffffff81000000          1000000   b0c000  4096 .text
ffffffff81000000          1000000       75    16         vmlinux.a(init/main.o):(.text)
ffffffff81000000          1000000       75     1                 start
ffffffff81000080          1000080       13    16         vmlinux.a(lib/argv_split.o):(.text)
ffffffff82000000          2000000        c     4         .vmlinux.export.o:(___ksymtab+start)
ffffffff82000010          2000010       10    16         vmlinux.a(init/main.o):(.init.text)
ffffffff82000020          2000020       10     8         .tmp_vmlinux2.kallsyms.o:(.rodata)
ffffffff82000030          2000030       10     8         <internal>:(.debug_str)
`

// TestLinkedObjectsOfLLD reads what ld.lld of a kernel made with LLVM=1 writes.
func TestLinkedObjectsOfLLD(t *testing.T) {
	got, err := LinkedObjects(strings.NewReader(lldMap))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"init/main.o", "lib/argv_split.o",
		".vmlinux.export.o"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestLinkedObjects(t *testing.T) {
	got, err := LinkedObjects(strings.NewReader(ldMap))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"init/main.o", "arch/x86/boot/startup/gdt_idt.pi.o", "lib/argv_split.o",
		".vmlinux.export.o", "init/version-timestamp.o"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if _, err := LinkedObjects(strings.NewReader("hello\n")); err == nil {
		t.Error("a text that is not a map was read without an error")
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"vmlinux.map":      ldMap,
		"modules.order":    "fs/fat/fat.o\n",
		"fs/fat/fat.mod":   "fs/fat/cache.o\nfs/fat/dir.o\n",
		"drivers/left.mod": "drivers/left.o\n",
	} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []Module{{Name: "fat", Path: "fs/fat/fat.ko",
		Objects: []string{"fs/fat/cache.o", "fs/fat/dir.o", "fs/fat/fat.mod.o", ".module-common.o"}}}
	if !reflect.DeepEqual(tree.Modules, want) {
		t.Errorf("modules: got %+v\nwant %+v", tree.Modules, want)
	}
	if err := os.Remove(filepath.Join(dir, "fs/fat/fat.mod")); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "fat.mod") {
		t.Errorf("a missing .mod file: got error %v", err)
	}
}
