package kbuild

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestWrongTree reads directories close to the right one. Each error is one line that says what the
// directory is, and which one is right. Paths are relative to the directory above the tree "linux".
func TestWrongTree(t *testing.T) {
	source := []string{"linux/Kconfig", "linux/scripts/Makefile.build"}
	built := append([]string{"linux/.config", "linux/include/config/auto.conf", "linux/vmlinux",
		"linux/modules.order=drivers/net/dummy.o\n", "linux/drivers/net/dummy.ko",
		"linux/drivers/modules.order=drivers/net/dummy.o\n", "linux/kernel/modules.order"}, source...)
	for _, test := range []struct {
		name  string
		files []string // PATH, PATH=CONTENT or PATH=-> LINK TARGET
		dir   string   // the directory to read
		want  string   // $ is the directory above the tree
	}{
		{"a part with modules", built, "linux/drivers",
			"this is part of the kernel tree $/linux: specify that tree"},
		{"a part below a part", append([]string{"linux/drivers/net/modules.order=drivers/net/dummy.o"},
			built...), "linux/drivers/net", "this is part of the kernel tree $/linux: specify that tree"},
		{"a part without modules", built, "linux/kernel",
			"this is part of the kernel tree $/linux: specify that tree"},
		{"a part that Kbuild did not visit", built, "linux/scripts",
			"this is part of the kernel tree $/linux: specify that tree"},
		{"a part of a directory of O=", []string{"out/include/config/auto.conf", "out/vmlinux",
			"out/lib/modules.order"}, "out/lib", "this is part of the kernel tree $/out: specify that tree"},
		{"a part of what was moved without the rest", []string{"linux/drivers/net/dummy.ko",
			"linux/drivers/modules.order=drivers/net/dummy.o"}, "linux/drivers",
			"this is part of the kernel tree $/linux: specify that tree"},
		{"modules of M= that are gone", []string{"mine/modules.order=ring.o"}, "mine",
			"$/mine/ring.ko: missing, but listed in modules.order: run make modules"},
		{"sources", source, "linux", "this is a kernel source tree without a build: specify the " +
			"directory in O= or KBUILD_OUTPUT of make"},
		{"cleaned", append([]string{"linux/.config", "linux/include/config/auto.conf"}, source...),
			"linux", "configured but not built, or was cleaned: run make vmlinux"},
		{"a cleaned directory of O=", []string{"out/include/config/auto.conf"}, "out",
			"this Kbuild directory is configured but not built, or was cleaned: run make vmlinux"},
		{"sources of a build below them", append([]string{"linux/out/vmlinux",
			"linux/out/source=-> .."}, source...), "linux",
			"this is a kernel source tree, but Kbuild built in $/linux/out (O= or KBUILD_OUTPUT): " +
				"specify that directory"},
		{"no modules", []string{"mine/modules.order"}, "mine",
			"modules.order lists no modules: run make"},
		{"anything", []string{"mine/README"}, "mine", "neither vmlinux nor modules.order"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := programtest.NewDir(t)
			top := f.Path("")
			for _, file := range test.files {
				path, text, _ := strings.Cut(file, "=")
				if target, ok := strings.CutPrefix(text, "-> "); ok {
					must.OK(t, os.Symlink(target, filepath.Join(top, path)))
					continue
				}
				f.Write(path, text)
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
	f := programtest.NewDir(t)
	f.Write("modules.order", "ring.o\n")
	f.Write("ring.ko", "")
	_, err := Read(f.Path(""), Options{NoModules: true})
	if err == nil || !strings.Contains(err.Error(), "no vmlinux, and modules are left out") {
		t.Errorf("got error %v", err)
	}
}
