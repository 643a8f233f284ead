package archive

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// imagesOf makes a directory with the images of someRelease: vmlinux, and modules with the BTF from
// which the archive was made. One module has a distilled base, and one is based on another module.
func imagesOf(t *testing.T, r Release) string {
	t.Helper()
	dir := t.TempDir()
	read := func(path string) []byte {
		data := must.Get(os.ReadFile(path))(t)
		return data
	}
	put(t, dir, "vmlinux", read(r.Vmlinux))
	put(t, dir, "net/nf-nat.ko", elfObject(t, elfwrite.Section{Name: ".BTF",
		Data: read(r.Modules[0].File)}))
	put(t, dir, "disk.ko", read(r.Modules[1].File))
	raid := elfwrite.Section{Name: ".BTF", Data: read(r.Modules[2].File)}
	put(t, dir, "md/raid.ko", elfObject(t, raid))
	put(t, dir, "other.ko", read(r.Modules[3].File))
	put(t, dir, "plain.ko", elfObject(t, elfwrite.Section{Name: ".modinfo",
		Data: []byte("name=plain\x00")}))
	put(t, dir, "modules.order", []byte("disk.o\n"))
	return dir
}

// TestImages compares an archive with images, one of which has been changed. The tests of section
// .BTF_ids are in package btfids.
func TestImages(t *testing.T) {
	r := someRelease(t, t.TempDir())
	a := must.Get(Build(r))(t)
	dir := t.TempDir()
	must.OK(t, a.WriteDir(dir))
	one, _ := blob(t, nil, func(b *btf.Builder) { b.Int("int", 4, 1, 0) })
	types := func(data []byte) elfwrite.Section { return elfwrite.Section{Name: ".BTF", Data: data} }
	_, kernel := kernelBTF(t)
	split, _ := blob(t, kernel, embeds("other"))
	for _, c := range []struct {
		what   string
		change func(dir string)
		want   []string // the problems before raid's problem; after has those after it
		after  []string
	}{
		{"nothing", func(dir string) {}, nil, nil},
		{"other BTF", func(dir string) { put(t, dir, "net/nf-nat.ko", elfObject(t, types(one))) },
			[]string{"nf_nat: DIR/net/nf-nat.ko differs from the BTF in the archive: "}, nil},
		{"other BTF of the kernel", func(dir string) { put(t, dir, "vmlinux", elfObject(t, types(one))) },
			nil, []string{"vmlinux: DIR/vmlinux differs from the BTF in the archive: "}},
		{"a second file", func(dir string) { put(t, dir, "new/nf_nat.ko", elfObject(t, types(one))) },
			[]string{"nf_nat: DIR/new/nf_nat.ko differs from the BTF in the archive: "}, nil},
		{"another distilled base", func(dir string) {
			put(t, dir, "other.ko", elfObject(t, types(split), elfwrite.Section{Name: ".BTF.base",
				Data: one}))
		}, []string{"other: DIR/other.ko contains BTF that doesn't match the BTF of the archive: " +
			""}, nil},
		{"a distilled base alone", func(dir string) {
			put(t, dir, "other.ko", elfObject(t, elfwrite.Section{Name: ".BTF.base", Data: one}))
		}, []string{"other: DIR/other.ko has a section .BTF.base, but only modules with "}, nil},
		{"another module", func(dir string) {
			os.Rename(filepath.Join(dir, "disk.ko"), filepath.Join(dir, "nf_nat.ko"))
		}, []string{"nf_nat: DIR/nf_nat.ko: it is the module disk"}, nil},
		{"not in the archive", func(dir string) { put(t, dir, "new.ko", elfObject(t, types(one))) },
			[]string{"new: DIR/new.ko has a section .BTF, but the manifest doesn't list this file"}, nil},
		{"no ELF file", func(dir string) { put(t, dir, "disk.ko", []byte("#!/bin/sh\n")) },
			[]string{"disk: DIR/disk.ko: not an ELF file"}, nil},
		{"compressed", func(dir string) { put(t, dir, "disk.ko.zst", []byte(zstdMagic+"\x00\x00")) },
			[]string{"disk: DIR/disk.ko.zst: zstd-compressed; decompress it first"}, nil},
	} {
		t.Run(c.what, func(t *testing.T) {
			images := imagesOf(t, r)
			c.change(images)
			link := filepath.Join(t.TempDir(), "link")
			must.OK(t, os.Symlink(images, link))
			found := must.Get(Check(filepath.Join(dir, ManifestName),
				Options{Rules: bootRules, Jobs: 2, Images: Images{Modules: link}}))(t)
			want := append(append(slices.Clone(c.want), onRAID), c.after...)
			for i := range found {
				found[i] = strings.ReplaceAll(found[i], link, "DIR")
			}
			wantProblems(t, found, want)
		})
	}
	for _, c := range []struct {
		images Images
		want   string
	}{
		{Images{Modules: dir + "/none"}, "none: no such file or directory"},
		{Images{Modules: t.TempDir()}, "the directory has neither *.ko files nor vmlinux"},
	} {
		_, err := Check(filepath.Join(dir, ManifestName), Options{Images: c.images})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.images, err)
		}
	}
}
