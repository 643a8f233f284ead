package kbuild

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWrongTree names directories that are near the right one. Each error is a line that says which
// that is, and what the named one is. Paths begin at the directory above the tree "linux".
func TestWrongTree(t *testing.T) {
	source := []string{"linux/Kconfig", "linux/scripts/Makefile.build"}
	built := append([]string{"linux/.config", "linux/include/config/auto.conf", "linux/vmlinux",
		"linux/modules.order=drivers/net/dummy.o\n", "linux/drivers/net/dummy.ko",
		"linux/drivers/modules.order=drivers/net/dummy.o\n", "linux/kernel/modules.order"}, source...)
	for _, test := range []struct {
		name  string
		files []string // each with its content
		dir   string   // what is named
		want  string   // $ is the directory above the tree
	}{
		{"a part with modules", built, "linux/drivers",
			"a part of the kernel's tree $/linux: name that"},
		{"a part below a part", append([]string{"linux/drivers/net/modules.order=drivers/net/dummy.o"},
			built...), "linux/drivers/net", "a part of the kernel's tree $/linux: name that"},
		{"a part without modules", built, "linux/kernel",
			"a part of the kernel's tree $/linux: name that"},
		{"a part that Kbuild did not visit", built, "linux/scripts",
			"a part of the kernel's tree $/linux: name that"},
		{"a part of a directory of O=", []string{"out/include/config/auto.conf", "out/vmlinux",
			"out/lib/modules.order"}, "out/lib", "a part of the kernel's tree $/out: name that"},
		{"a part of what was moved without the rest", []string{"linux/drivers/net/dummy.ko",
			"linux/drivers/modules.order=drivers/net/dummy.o"}, "linux/drivers",
			"a part of the kernel's tree $/linux: name that"},
		{"modules of M= that are gone", []string{"mine/modules.order=ring.o"}, "mine",
			"$/mine/ring.ko: modules.order lists it, but it is missing: make modules"},
		{"sources", source, "linux", "a kernel's source tree in which nothing is built: name the " +
			"directory that make had in O= or KBUILD_OUTPUT"},
		{"cleaned", append([]string{"linux/.config", "linux/include/config/auto.conf"}, source...),
			"linux", "configured and not built, or cleaned: make vmlinux"},
		{"a cleaned directory of O=", []string{"out/include/config/auto.conf"}, "out",
			"a directory of Kbuild's that is configured and not built, or cleaned: make vmlinux"},
		{"sources of a build below them", append([]string{"linux/out/vmlinux",
			"linux/out/source=-> .."}, source...), "linux",
			"a kernel's source tree, and Kbuild built in $/linux/out (O= or KBUILD_OUTPUT): name that"},
		{"no modules", []string{"mine/modules.order"}, "mine", "modules.order lists no modules: make"},
		{"anything", []string{"mine/README"}, "mine", "neither vmlinux nor modules.order"},
	} {
		t.Run(test.name, func(t *testing.T) {
			top := t.TempDir()
			f := fixture{t, top}
			for _, file := range test.files {
				path, text, _ := strings.Cut(file, "=")
				if target, ok := strings.CutPrefix(text, "-> "); ok {
					if err := os.Symlink(target, filepath.Join(top, path)); err != nil {
						t.Fatal(err)
					}
					continue
				}
				f.write(path, text)
			}
			_, err := Read(filepath.Join(top, test.dir), Options{})
			want := strings.ReplaceAll(test.want, "$", top)
			if err == nil || !strings.Contains(err.Error(), want) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("got error %v\nwant %s", err, want)
			}
		})
	}
}

func TestModulesLeftOut(t *testing.T) {
	f := fixture{t, t.TempDir()}
	f.write("modules.order", "ring.o\n")
	f.write("ring.ko", "")
	_, err := Read(f.dir, Options{NoModules: true})
	if err == nil || !strings.Contains(err.Error(), "no vmlinux, and the modules are left out") {
		t.Errorf("got error %v", err)
	}
}
