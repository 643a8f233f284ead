package kernel

import (
	"debug/elf"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestInside prints the kernel's BTF with "btfdedup dump", as records and as a C header. The
// records must be identical to bpftool's. The header must compile, and the types in it must have
// the layouts that the BTF describes.
func TestInside(t *testing.T) {
	harness.Need(t, "bpftool", "gcc", "clang")
	vmlinux := vmlinux(t)
	ours, _ := encode(t, vmlinux, nil)
	dump := func(format string) (mine, bpftools string) {
		mine = harness.MustRun(t, "", harness.Tool(t, "btfdedup"), "dump", "--format="+format, ours.Path)
		return mine, harness.MustRun(t, "", "bpftool", "btf", "dump", "file", ours.Path, "format", format)
	}

	t.Run("raw", func(t *testing.T) {
		if mine, theirs := dump("raw"); mine != theirs {
			t.Errorf("our %d bytes differ from bpftool's %d", len(mine), len(theirs))
		}
	})
	t.Run("c", func(t *testing.T) {
		mine, theirs := dump("c")
		compareHeaders(t, mine, theirs)
		dir := t.TempDir()
		harness.WriteFile(t, filepath.Join(dir, "vmlinux.h"), mine)
		harness.WriteFile(t, filepath.Join(dir, "use.c"), "#include \"vmlinux.h\"\n")
		harness.WriteFile(t, filepath.Join(dir, "layout.c"),
			"#include \"vmlinux.h\"\n"+layoutAssertions(t, ours.Path))
		for _, standard := range []string{"gnu11", "gnu23"} {
			harness.MustRun(t, dir, "gcc", "-std="+standard, "-fsyntax-only", "-w", "use.c")
		}
		target := target(t, vmlinux)
		harness.MustRun(t, dir, "clang", "-target", target, "-fsyntax-only", "-w", "layout.c")
	})
}

// target returns the clang target that lays out types like the compiler that built the kernel.
func target(t *testing.T, vmlinux string) string {
	t.Helper()
	h := header(t, vmlinux)
	targets := map[elf.Machine]string{elf.EM_386: "i386-linux-gnu", elf.EM_ARM: "armv7a-linux-gnueabi",
		elf.EM_MIPS: "mipsel-linux-gnu"}
	switch name, ok := targets[h.Machine]; {
	case h.Class == elf.ELFCLASS64 && h.Data == elf.ELFDATA2LSB:
		return "bpfel"
	case h.Class == elf.ELFCLASS64:
		return "bpfeb"
	case ok:
		return name
	}
	t.Skipf("SKIPPED: no target of clang is known for %v", h.Machine)
	return ""
}

// changed matches the lines in bpftool's header that have a different form in our header: a member
// that is a struct with a tag but has no name, the end of a packed or aligned union, a member whose
// type is an undefined enum, and padding on 32-bit machines.
var changed = regexp.MustCompile(`^\t+(struct|union) \w+;$|^\t*}( \**\w+)?;$|` +
	`^\tenum \w+ \w+;$|^\t+(long|int|short|char): [0-9]+;$`)

// compareHeaders checks that our header has every line of bpftool's header, except for lines that
// match the expression changed, which docs/inside.md explains.
func compareHeaders(t *testing.T, mine, theirs string) {
	t.Helper()
	count := map[string]int{}
	for line := range strings.Lines(mine) {
		count[line]++
	}
	missing := 0
	for line := range strings.Lines(theirs) {
		if count[line]--; count[line] >= 0 {
			continue
		}
		missing++
		if !changed.MatchString(strings.TrimSuffix(line, "\n")) {
			t.Errorf("ours lacks %s", line)
		}
	}
	fmt.Printf("the header: %d lines, bpftool's: %d, of which %d are not in ours\n",
		strings.Count(mine, "\n"), strings.Count(theirs, "\n"), missing)
	if missing > 100 {
		t.Errorf("%d lines differ", missing)
	}
}

// layoutAssertions returns C code that compiles only if each struct, union and enum has the size,
// and each member has the offset, that cilium/ebpf reads from the BTF. The code does not check
// bitfields, names with several definitions, or types that contain a va_list, which differs between
// machines.
func layoutAssertions(t *testing.T, path string) string {
	t.Helper()
	spec := must.Get(btf.LoadSpec(path))(t)
	definitions := map[string][]btf.Type{}
	for typ, err := range spec.All() {
		must.OK(t, err)
		switch typ := typ.(type) {
		case *btf.Struct:
			definitions[typ.Name] = append(definitions[typ.Name], typ)
		case *btf.Union:
			definitions[typ.Name] = append(definitions[typ.Name], typ)
		case *btf.Enum:
			definitions[typ.Name] = append(definitions[typ.Name], typ)
		}
	}
	var text strings.Builder
	structs := 0
	for name, all := range definitions {
		if name == "" || len(all) != 1 || holdsVaList(all[0]) {
			continue
		}
		structs++
		switch typ := all[0].(type) {
		case *btf.Struct:
			assertLayout(&text, "struct "+name, typ.Size, typ.Members)
		case *btf.Union:
			assertLayout(&text, "union "+name, typ.Size, typ.Members)
		case *btf.Enum:
			if len(typ.Values) > 0 {
				assertLayout(&text, "enum "+name, typ.Size, nil)
			}
		}
	}
	fmt.Printf("%d tags are compared\n", structs)
	if structs < 1000 {
		t.Errorf("only %d tags", structs)
	}
	return text.String()
}

func assertLayout(text *strings.Builder, tag string, size uint32, members []btf.Member) {
	fmt.Fprintf(text, "_Static_assert(sizeof(%s) == %d, \"%s\");\n", tag, size, tag)
	for _, m := range members {
		if m.Name != "" && m.BitfieldSize == 0 && m.Name != "bool" {
			fmt.Fprintf(text, "_Static_assert(__builtin_offsetof(%s, %s) == %d, \"%s.%s\");\n", tag, m.Name,
				m.Offset/8, tag, m.Name)
		}
	}
}

// holdsVaList reports whether a type contains a va_list.
func holdsVaList(typ btf.Type) bool {
	var members []btf.Member
	switch typ := btf.UnderlyingType(typ).(type) {
	case *btf.Array:
		return holdsVaList(typ.Type)
	case *btf.Struct:
		members = typ.Members
	case *btf.Union:
		members = typ.Members
	}
	for _, m := range members {
		if named, ok := m.Type.(*btf.Typedef); ok && strings.Contains(named.Name, "va_list") ||
			holdsVaList(m.Type) {
			return true
		}
	}
	return false
}
