package kernelimage

import (
	"bytes"
	stdelf "debug/elf"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

var release = regexp.MustCompile(`Linux version (\S+) `)

// TestKernels finds the BTF in kernel images that machines boot. That BTF must equal the section
// .BTF of the vmlinux with DWARF, which Debian packages separately.
func TestKernels(t *testing.T) {
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip("SKIPPED: ", err)
	}
	images, _ := filepath.Glob(cache + "/rules_btf/boot/vmlinuz")
	images = append(images, strings.Fields(os.Getenv("KERNEL_IMAGES"))...)
	if len(images) == 0 {
		t.Skip("SKIPPED: no kernel in the cache or in KERNEL_IMAGES")
	}
	for _, path := range images {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			must.OK(t, err)
			c, err := Unpack(path, data, 0)
			must.OK(t, err)
			version := release.FindSubmatch(c.Data)
			if version == nil {
				t.Fatalf("%s: no version of Linux", c.Label)
			}
			debug, _ := filepath.Glob(cache + "/rules_btf/debian/*/kernel/usr/lib/debug/boot/vmlinux-" +
				string(version[1]))
			if len(debug) == 0 {
				t.Skipf("SKIPPED: no vmlinux of %s in the cache", version[1])
			}
			want := section(t, debug[0])
			got, err := FindBTF(c.Data)
			if c.Form == ELF {
				f := must.Get(elf.Parse(c.Label, c.Data))(t)
				if s := f.Section(".BTF"); s == nil || !bytes.Equal(s.Raw(), want) {
					t.Errorf("%s: section .BTF is %v, want %d bytes", c.Label, s, len(want))
				}
			}
			// FindBTF also finds the BTF in an ELF file.
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes of BTF, want %d (%v)", c.Label, len(got), len(want), err)
			}
			t.Logf("%s: %s, %d bytes of BTF", version[1], c.Label, len(got))
		})
	}
}

// section returns the section .BTF of vmlinux, as the standard library reads it, or nil.
func section(t *testing.T, path string) []byte {
	t.Helper()
	f := must.Get(stdelf.Open(path))(t)
	defer f.Close()
	s := f.Section(".BTF")
	if s == nil {
		return nil
	}
	data := must.Get(s.Data())(t)
	return data
}
