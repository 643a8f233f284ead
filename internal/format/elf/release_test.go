package elf

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

func TestKernelRelease(t *testing.T) {
	modinfo := func(text string) string {
		return `__attribute__((section(".modinfo"))) char info[] = "name=m\0` + text + `";`
	}
	banner := func(text string) string { return "const char linux_banner[] = \"" + text + "\";" }
	for _, c := range []struct {
		what, source string
		linked       bool
		want         string
	}{
		{"module", modinfo("vermagic=6.1.0-50-cloud-amd64 SMP preempt "), false, "6.1.0-50-cloud-amd64"},
		{"kernel", banner("Linux version 7.2.0+ (me@here) (gcc) #1"), true, "7.2.0+"},
		{"second", banner("Linux version 5 or later\\0Linux version 7.2.0 (me@here)"), true, "7.2.0"},
		{"program", banner("Linux version 4.4 is needed"), true, ""},
		{"format", banner("Linux version %s (%s)"), true, ""},
		{"object of a kernel", banner("Linux version 7.2.0 (me@here)"), false, ""},
		{"no vermagic", modinfo("license=GPL"), false, ""},
		{"bad vermagic", modinfo("vermagic=6.1\\n SMP "), false, ""},
		{"long", modinfo("vermagic=6" + strings.Repeat("x", 64) + " SMP "), false, ""},
		{"nothing", "int i;", false, ""},
	} {
		path := compile(t, c.source)
		if c.linked {
			programtest.Run(t, filepath.Dir(path), "gcc", "-nostdlib", "-static", "-Wl,-e,0", "-o",
				"linked", path)
			path = filepath.Join(filepath.Dir(path), "linked")
		}
		if got := open(t, path).KernelRelease(); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
