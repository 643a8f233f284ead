package archive

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/kernel/distill"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// sites adds an inlined function and one site of it to split BTF. first is the id of the function's
// prototype.
func sites(first uint32) func(b *btf.Builder) { return sitesWith(first, 1) }

// sitesWith is like sites; the function's parameter has the given type.
func sitesWith(first, parameter uint32) func(b *btf.Builder) {
	return func(b *btf.Builder) {
		b.FuncProto(0, btf.Param{NameOff: b.Name("n"), Type: parameter})
		b.Func("inlined", first, 0)
		b.LocParam(4, 8, 5) // a register
		b.LocProto(first + 2)
		b.Locsec("inline.text", btf.Site{Func: first + 1, LocProto: first + 3, Offset: 16})
	}
}

// siteRelease is a release with the sites of vmlinux, of a module given as raw BTF, and of a module
// given as an ELF file.
func siteRelease(t testing.TB, dir string) Release {
	t.Helper()
	rawKernel, kernel := kernelBTF(t)
	kernelSites, _ := blob(t, kernel, sites(5))
	rawNAT, nat := blob(t, kernel, embeds("nat"))
	natSites, _ := blob(t, nat, sites(6))
	rawDisk, disk := blob(t, kernel, embeds("disk"))
	diskSites, _ := blob(t, disk, sites(6))
	return Release{
		Name:    "7.4.0-test",
		Vmlinux: put(t, dir, "vmlinux.btf", rawKernel),
		Modules: []Module{
			{File: put(t, dir, "nf-nat.inline.btf", natSites)},
			{File: put(t, dir, "nf-nat.btf", rawNAT)},
			{File: put(t, dir, "v.btf", kernelSites), Path: "vmlinux.inline"},
			{File: put(t, dir, "disk.ko", elfObject(t, elfwrite.Section{Name: ".BTF", Data: rawDisk},
				elfwrite.Section{Name: ".BTF.inline", Data: diskSites}))},
		},
		Jobs: 2,
	}
}

// written builds a release and writes it to a directory. It returns the path of the manifest.
func written(t *testing.T, r Release) (string, *Archive) {
	t.Helper()
	a := must.Get(Build(r))(t)
	dir := t.TempDir()
	must.OK(t, a.WriteDir(dir))
	return filepath.Join(dir, ManifestName), a
}

// TestSites: the manifest lists files with sites after their bases, and Check accepts the archive.
// Readers of a kernel's types leave out the sites.
func TestSites(t *testing.T) {
	path, a := written(t, siteRelease(t, t.TempDir()))
	bases := map[string]string{}
	for _, f := range a.Manifest.Files {
		for _, b := range f.Bases {
			bases[f.Name] += b.Name + " "
		}
		if f.Path != "" {
			t.Errorf("%s has the path %s", f.Name, f.Path)
		}
	}
	for name, want := range map[string]string{"vmlinux": "", "vmlinux.inline": "vmlinux ",
		"nf_nat.inline": "vmlinux nf_nat ", "disk.inline": "vmlinux disk ", "disk": "vmlinux "} {
		if bases[name] != want {
			t.Errorf("%s is based on %q, want %q", name, bases[name], want)
		}
	}
	if n := len(a.Manifest.Files); n != 6 {
		t.Errorf("%d files", n)
	}
	found, err := Check(path, Options{})
	if err != nil || len(found) > 0 {
		t.Errorf("%v %v", found, err)
	}
	kernel, modules, err := ReadSet(filepath.Dir(path))
	if err != nil || kernel == nil || len(modules) != 2 || modules["nf_nat"] == nil {
		t.Errorf("read as a set: %v %v %v", kernel, modules, err)
	}
	must.OK(t, os.Remove(path))
	if _, modules, err = ReadSet(filepath.Dir(path)); err != nil || len(modules) != 2 {
		t.Errorf("read without a manifest: %v %v", modules, err)
	}
}

// TestSitesChecked: Check reports damaged sites, sites on a wrong base, and sections that differ.
func TestSitesChecked(t *testing.T) {
	_, kernel := kernelBTF(t)
	rawOther, _ := blob(t, kernel, sites(5))
	for _, c := range []struct {
		what   string
		change func(d *damage)
		want   []string
	}{
		{"nothing", func(d *damage) {}, nil},
		{"a byte changed", func(d *damage) { d.flip("vmlinux.inline", 40) },
			[]string{"vmlinux.inline: damaged: its SHA-256 is "}},
		{"another base", func(d *damage) {
			f := d.file("nf_nat.inline")
			f.Bases[1] = Base{"disk", d.file("disk").SHA256}
		}, []string{"nf_nat.inline: wrong base: it has sites of inlined functions of nf_nat, but is " +
			"based on disk"}},
		{"other sites", func(d *damage) { d.replace("disk.inline", rawOther) },
			[]string{"disk.inline: [7] FUNC sk refers to [5], which is STRUCT disk in the base"}},
		{"the module of other sites", func(d *damage) {
			d.forget("nf_nat.inline")
			os.Remove(filepath.Join(d.dir, "nf_nat.inline"))
		}, nil},
	} {
		path, a := written(t, siteRelease(t, t.TempDir()))
		d := &damage{T: t, dir: filepath.Dir(path), m: &a.Manifest}
		c.change(d)
		data, err := d.m.Encode()
		must.OK(t, err)
		os.Remove(path)
		put(t, d.dir, ManifestName, data)
		found, err := Check(path, Options{})
		if err != nil {
			t.Error(err)
		}
		t.Run(c.what, func(t *testing.T) { wantProblems(t, found, c.want) })
	}
}

// TestSitesOfImages: a section .BTF.inline must be the same as in the archive.
func TestSitesOfImages(t *testing.T) {
	r := siteRelease(t, t.TempDir())
	path, _ := written(t, r)
	dir := filepath.Dir(r.Vmlinux) // has disk.ko
	opts := Options{Images: Images{Modules: dir}}
	found, err := Check(path, opts)
	if err != nil || len(found) > 0 {
		t.Errorf("%v %v", found, err)
	}
	_, kernel := kernelBTF(t)
	rawDisk, disk := blob(t, kernel, embeds("disk"))
	more, _ := blob(t, disk, func(b *btf.Builder) { sites(6)(b); b.LocParam(8, 8, 5) })
	put(t, dir, "disk.ko", elfObject(t, elfwrite.Section{Name: ".BTF", Data: rawDisk},
		elfwrite.Section{Name: ".BTF.inline", Data: more}))
	found, err = Check(path, opts)
	must.OK(t, err)
	wantProblems(t, found, []string{"disk.inline: " + dir + "/disk.ko: section .BTF.inline differs " +
		"from the BTF in the archive: "})
}

// TestSitesOfVmlinuxInModule: the module btf_vmlinux_inline has the sites of vmlinux.
func TestSitesOfVmlinuxInModule(t *testing.T) {
	dir := t.TempDir()
	rawKernel, kernel := kernelBTF(t)
	inline, _ := blob(t, kernel, sites(5))
	rawModule, _ := blob(t, kernel, embeds("of_module"))
	module := func(inline []byte) string {
		return put(t, dir, "btf_vmlinux_inline.ko", elfObject(t,
			elfwrite.Section{Name: ".BTF", Data: rawModule},
			elfwrite.Section{Name: ".BTF.inline", Data: inline}))
	}
	r := Release{Name: "7.4.0-test", Vmlinux: put(t, dir, "vmlinux.btf", rawKernel), Jobs: 2,
		Modules: []Module{{File: module(inline)}}}
	path, a := written(t, r)
	got, err := os.ReadFile(filepath.Join(filepath.Dir(path), "vmlinux.inline"))
	if err != nil || !bytes.Equal(got, inline) || len(a.Manifest.Files) != 3 {
		t.Errorf("%d files, %v", len(a.Manifest.Files), err)
	}
	opts := Options{Images: Images{Modules: dir}}
	if found, err := Check(path, opts); err != nil || len(found) > 0 {
		t.Errorf("%v %v", found, err)
	}
	other, _ := blob(t, kernel, func(b *btf.Builder) { sites(5)(b); b.LocParam(8, 8, 5) })
	module(other)
	found, err := Check(path, opts)
	must.OK(t, err)
	wantProblems(t, found, []string{"vmlinux.inline: " + dir + "/btf_vmlinux_inline.ko: section " +
		".BTF.inline differs from the BTF in the archive: "})
}

// distilledModule makes a module with a distilled base and with sites, as an ELF file. It also
// returns the sites that are based on the kernel of kernelBTF and on the module.
func distilledModule(t *testing.T) (image, inline []byte) {
	t.Helper()
	_, kernel := kernelBTF(t)
	raw, nat := blob(t, kernel, embeds("nat"))
	inline, _ = blob(t, nat, sitesWith(6, 2))
	rawBase, split := must.Get2(distill.Encode(raw, kernel))(t)
	distilled := must.Get(btf.Parse(rawBase, nil))(t)
	onBase := must.Get(btf.Parse(split, distilled))(t)
	ofModule, _ := blob(t, onBase, sitesWith(3, 1))
	return elfObject(t, elfwrite.Section{Name: ".BTF", Data: split},
		elfwrite.Section{Name: ".BTF.base", Data: rawBase},
		elfwrite.Section{Name: ".BTF.inline", Data: ofModule}), inline
}

// TestSitesRelocated: if the base of a module is distilled, its sites are relocated too.
func TestSitesRelocated(t *testing.T) {
	dir := t.TempDir()
	image, inline := distilledModule(t)
	rawKernel, _ := kernelBTF(t)
	r := Release{Name: "7.4.0-test", Vmlinux: put(t, dir, "vmlinux.btf", rawKernel), Jobs: 2,
		Modules: []Module{{File: put(t, dir, "modules/nf-nat.ko", image)}}}
	path, _ := written(t, r)
	got, err := os.ReadFile(filepath.Join(filepath.Dir(path), "nf_nat.inline"))
	if err != nil || !bytes.Equal(got, inline) {
		t.Errorf("nf_nat.inline has %d bytes, want %d: %v", len(got), len(inline), err)
	}
	check := func(what string, want []string) {
		found, err := Check(path, Options{Images: Images{Modules: filepath.Join(dir, "modules")}})
		must.OK(t, err)
		t.Run(what, func(t *testing.T) { wantProblems(t, found, want) })
	}
	check("the same", nil)
	site := []byte("\x04\x00\x00\x00\x06\x00\x00\x00\x10")
	at := bytes.Index(image, site)
	image[at+len(site)-1]++ // the offset
	put(t, dir, "modules/nf-nat.ko", image)
	check("another site", []string{"nf_nat.inline: " + dir + "/modules/nf-nat.ko: section " +
		".BTF.inline differs from the BTF in the archive: "})
}

// TestSitesRefused: sites must have a module, and belong to it.
func TestSitesRefused(t *testing.T) {
	for what, c := range map[string]struct {
		change func(r *Release, dir string)
		want   string
	}{
		"no module": {func(r *Release, dir string) {
			r.Modules = append(r.Modules[:1:1], r.Modules[2:]...)
		}, "DIR/nf-nat.inline.btf: it has the sites of inlined functions of the module nf_nat, but " +
			"there is no such module"},
		"sites twice": {func(r *Release, dir string) {
			r.Modules = append(r.Modules, Module{File: r.Modules[0].File, Path: "disk.inline"})
		}, "DIR/disk.ko and DIR/nf-nat.inline.btf: both have the same module name in the kernel, " +
			"disk.inline"},
		"made for another base": {func(r *Release, dir string) {
			_, kernel := kernelBTF(t)
			raw, _ := blob(t, kernel, embeds("nat"))
			distilled, split := must.Get2(distill.Encode(raw, kernel))(t)
			r.Modules[1].File = put(t, dir, "nf-nat.btf", split)
			r.Distilled = map[string]string{"nf_nat": put(t, dir, "nf-nat.base.btf", distilled)}
		}, "DIR/nf-nat.inline.btf: BTF type [6] refers to [8], but the last type is [7]"},
		"another base": {func(r *Release, dir string) { r.Modules[0].Path = "vmlinux.inline" },
			"both have the same module name in the kernel, vmlinux.inline"},
		"sites of sites": {func(r *Release, dir string) { r.Modules[0].Path = "disk.inline.inline" },
			"of the module disk.inline, but there is no such module"},
	} {
		dir := t.TempDir()
		r := siteRelease(t, dir)
		c.change(&r, dir)
		_, err := Build(r)
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), dir, "DIR"), c.want) {
			t.Errorf("%s: error %v\nwant %s", what, err, c.want)
		}
	}
}
