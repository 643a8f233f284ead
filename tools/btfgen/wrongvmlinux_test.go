package main

import (
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestWrongVmlinux makes the base from the DWARF of a kernel with another release.
func TestWrongVmlinux(t *testing.T) {
	programtest.Need(t, "gcc")
	dir := programtest.NewDir(t)
	for i, release := range []string{"7.2.0", "7.2.1"} {
		dir.Write("k.c", "struct any { int i; } any; const char linux_banner[] = \"Linux version "+
			release+" (user@host)\";")
		dir.Run("gcc", "-g", "-nostdlib", "-static", "-Wl,-e,0", "-o", "vmlinux", "k.c")
		for _, module := range []string{"a.ko", "b.ko"} {
			dir.Write("m.c", `int i; __attribute__((section(".modinfo"))) char m[] = "vermagic=7.2.0 SMP ";`)
			dir.Run("gcc", "-g", "-c", "-o", module, "m.c")
		}
		a, b := dir.Path("a.ko"), dir.Path("b.ko")
		one, two := "", ""
		if i > 0 {
			one = a + ": it was built for the kernel 7.2.0, but the base is the BTF of 7.2.1"
			two = one + " (and 1 more module, of 2, may have the wrong base)"
		}
		for want, args := range map[string][]string{one: {a}, two: {a, b}} {
			args = append([]string{"modules", "-o", dir.Path("out"), dir.Path("vmlinux")}, args...)
			if code, errs := runVerb(args...); code != 0 || !strings.HasSuffix(errs, want) {
				t.Errorf("exit code %d, %q, want %q", code, errs, want)
			}
		}
	}
}
