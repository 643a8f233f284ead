package kbuild

import (
	"slices"
	"strings"
	"testing"
)

const ldMap = `Archive member included to satisfy reference by file (symbol)

init/main.o                   (--whole-archive)
arch/x86/boot/startup/gdt_idt.pi.o
                              (--whole-archive)
lib/argv_split.o              init/main.o (argv_split)
lib/fat.a(bcd.o)              init/main.o (bcd)

Discarded input sections

 .text          0x0000000000000000        0x0 init/main.o

LOAD vmlinux.a
LOAD .vmlinux.export.o
LOAD init/version-timestamp.o
START GROUP
LOAD lib/lib.a
END GROUP
LOAD .tmp_vmlinux2.kallsyms.o
LOAD .btf.vmlinux.bin.o
LOAD linker stubs
`

const lldMap = `             VMA              LMA     Size Align Out     In      Symbol
               0                0        0     1 jiffies = jiffies_64
ffffffff81000000          1000000   b0c000  4096 .text
ffffffff81000000          1000000       75    16         vmlinux.a(init/main.o):(.text)
ffffffff81000000          1000000       75     1                 start
ffffffff81000080          1000080       13    16         lib/lib.a(argv_split.o):(.text)
ffffffff82000000          2000000        c     4         .vmlinux.export.o:(___ksymtab+start)
ffffffff82000010          2000010       10    16         vmlinux.a(init/main.o):(.init.text)
ffffffff82000020          2000020       10     8         .tmp_vmlinux2.kallsyms.o:(.rodata)
ffffffff82000030          2000030       10     8         <internal>:(.debug_str)
`

func TestParseMap(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []input
	}{
		{"GNU ld", ldMap, []input{
			{name: "init/main.o"},
			{name: "arch/x86/boot/startup/gdt_idt.pi.o"},
			{name: "lib/argv_split.o"},
			{"lib/fat.a", "bcd.o"},
			{name: ".vmlinux.export.o"},
			{name: "init/version-timestamp.o"},
		}},
		// From a kernel that was built with LLVM=1.
		{"lld", lldMap, []input{
			{"vmlinux.a", "init/main.o"},
			{"lib/lib.a", "argv_split.o"},
			{name: ".vmlinux.export.o"},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseMap(strings.NewReader(test.text))
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("got %q, %v\nwant %q", got, err, test.want)
			}
		})
	}
	for _, text := range []string{"", "hello\n", strings.Repeat("x", maxLine+1)} {
		if _, err := parseMap(strings.NewReader(text)); err == nil {
			t.Errorf("%.20q was read without an error", text)
		}
	}
}
