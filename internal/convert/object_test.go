package convert

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestTrueSignaturesOfClang: clang marks a function whose parameters it has changed, and may
// replace a struct parameter with one of the struct's members.
func TestTrueSignaturesOfClang(t *testing.T) {
	const (
		obj  = "testdata/objects/changed-clang.o"
		want = "testdata/objects/changed-clang.txt"
		list = "default,true_signature"
	)
	linked := filepath.Join(t.TempDir(), "linked")
	linkObjects(t, linked, obj)
	r := twoRoads(t, list, linked, obj)
	compareWithFile(t, want, r)
	(&source{features: list}).compareWithPahole(t, linked, r)
}

// compareWithFile compares the BTF of a result with the lines of a file.
func compareWithFile(t *testing.T, path string, r *link.Result) {
	t.Helper()
	got := strings.Join(dump(t, r.BTF, false), "\n") + "\n"
	if *update {
		must.OK(t, os.WriteFile(path, []byte(got), 0o666))
	}
	want := must.Get(os.ReadFile(path))(t)
	if d := diff(strings.Split(got, "\n"), strings.Split(string(want), "\n")); d != "" {
		t.Errorf("-%s +the result\n%s", path, d)
	}
}

// TestObjects converts the files in testdata/objects (the Makefile there says how they are made)
// and compares the BTF with the text files there. Machines with the same address size give
// the same types, even bitfields, because BTF counts bits from the lowest address.
func TestObjects(t *testing.T) {
	for _, tt := range []struct{ want, files string }{
		{"machine-64.txt", "machine-x86_64.o machine-aarch64.o machine-aarch64_be.o " +
			"machine-loongarch64.o machine-mips64.o " +
			"machine-ppc64.o machine-ppc64le.o machine-riscv64.o machine-s390x.o " +
			"machine-x86_64-dwarf64.o relax.o types-clang-4.o types-clang-5.o"},
		{"machine-64-gcc.txt",
			"zstd.o lto-gcc-fat.o gcc-aarch64.o gcc-loongarch64.o gcc-powerpc64.o gcc-powerpc64le.o " +
				"gcc-riscv64.o gcc-s390x.o"},
		{"machine-32-gcc.txt", "gcc-arm.o"},
		{"machine-32.txt", "machine-arm.o machine-armeb.o machine-mips.o machine-mips-dwarf2.o " +
			"machine-ppc.o machine-riscv32.o"},
		{"machine-i386.txt", "machine-i386.o"},
		{"c23-gcc.txt", "c23-gcc.o"},
		{"c23-clang.txt", "c23-clang.o"},
		{"annotated-clang.txt", "annotated-clang.o"},
		{"annotated-gcc.txt", "annotated-gcc.o"}, // without the tags of structs and typedefs
		{"parts.txt", "dwz.elf dwz-4.elf dwz-m-4.elf dwz-m-5.elf lto-linked-gcc.elf"},
		{"parts-clang.txt", "lto-linked-clang.elf thin-linked-clang.elf"}, // long int is called long
		{"hidden-clang.txt", "hidden-clang.elf"},
		{"variadic-clang.txt", "variadic-clang.o"},
		{"whole-clang.txt", "whole-clang.elf"},
		{"whole-thin-clang.txt", "whole-thin-clang.elf"},
		{"whole-gcc.txt", "whole-gcc.elf"},
		{"rust-plain.txt", "rust-plain.o"},
	} {
		for _, name := range strings.Fields(tt.files) {
			t.Run(name, func(t *testing.T) {
				r := linkFile(t, filepath.Join("testdata/objects", name), "default")
				compareWithFile(t, filepath.Join("testdata/objects", tt.want), r)
				if lines := skippedLines(r); len(lines) > 0 &&
					!slices.Equal(lines, []string{"same_name: ambiguous address"}) {
					t.Errorf("skipped: %q", lines)
				}
			})
		}
	}
}
