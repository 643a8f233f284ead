package archive

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// damage is a directory with an archive that a test case damages.
type damage struct {
	*testing.T
	dir string
	m   *Manifest
}

// file returns the entry of a file in the manifest.
func (d *damage) file(name string) *File {
	for i := range d.m.Files {
		if d.m.Files[i].Name == name {
			return &d.m.Files[i]
		}
	}
	d.Fatal("no file ", name)
	return nil
}

// replace changes the content of a file, and updates its entry in the manifest.
func (d *damage) replace(name string, data []byte) {
	path := filepath.Join(d.dir, name)
	os.Remove(path)
	put(d, d.dir, name, data)
	sum := sha256.Sum256(data)
	f := d.file(name)
	f.SHA256, f.Size = hex.EncodeToString(sum[:]), int64(len(data))
}

func (d *damage) content(name string) []byte {
	data, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil {
		d.Fatal(err)
	}
	return data
}

// flip changes one byte of a file, but not its size.
func (d *damage) flip(name string, at int) {
	data := d.content(name)
	data[at] ^= 1
	os.Remove(filepath.Join(d.dir, name))
	put(d, d.dir, name, data)
}

// forget removes a file from the manifest.
func (d *damage) forget(name string) {
	var left []File
	for _, f := range d.m.Files {
		if f.Name != name {
			left = append(left, f)
		}
	}
	d.m.Files = left
}

// onRAID is a problem that the archive of someRelease has even if it isn't damaged.
const onRAID = "raid: it is based on disk, but the kernel only accepts modules based on vmlinux"

type damageTest struct {
	what   string
	change func(d *damage)
	want   []string // the beginnings of the problems, in order
}

var damages = []damageTest{
	{"nothing", func(d *damage) {}, []string{onRAID}},
	{"no chain", func(d *damage) {
		d.forget("raid")
		os.Remove(filepath.Join(d.dir, "raid"))
	}, nil},
	{"a byte changed", func(d *damage) { d.flip("nf_nat", 40) },
		[]string{"nf_nat: damaged: its SHA-256 is ", onRAID}},
	{"a byte of vmlinux changed", func(d *damage) { d.flip("vmlinux", 40) },
		[]string{onRAID, "vmlinux: damaged: its SHA-256 is "}},
	{"cut off", func(d *damage) {
		if err := os.Truncate(filepath.Join(d.dir, "disk"), 10); err != nil {
			d.Fatal(err)
		}
	}, []string{"disk: damaged: it has 10 bytes, but the manifest says ", onRAID}},
	{"file missing", func(d *damage) { os.Remove(filepath.Join(d.dir, "nf_nat")) },
		[]string{"nf_nat: the file is missing", onRAID}},
	{"a directory", func(d *damage) {
		os.Remove(filepath.Join(d.dir, "nf_nat"))
		os.Mkdir(filepath.Join(d.dir, "nf_nat"), 0o777)
	}, []string{"nf_nat: not a regular file", onRAID}},
	{"file not in the manifest", func(d *damage) { put(d, d.dir, "new", nil) },
		[]string{"new: the manifest doesn't list this file", onRAID}},
	{"another vmlinux", func(d *damage) {
		data, _ := blob(d, nil, func(b *btf.Builder) { b.Int("int", 4, 1, 0) })
		d.replace("vmlinux", data)
		f := d.file("vmlinux")
		f.Types, f.Conflicts = 1, 0
	}, []string{"disk: wrong base: it is based on vmlinux with SHA-256 ",
		"nf_nat: wrong base: it is based on vmlinux with SHA-256 ",
		"other: wrong base: it is based on vmlinux with SHA-256 ",
		"raid: wrong base: it is based on vmlinux with SHA-256 "}},
	{"another disk", func(d *damage) { d.replace("disk", d.content("nf_nat")) },
		[]string{"raid: wrong base: it is based on disk with SHA-256 "}},
	{"disk not in the manifest", func(d *damage) { d.forget("disk") },
		[]string{"disk: the manifest doesn't list this file",
			"raid: missing base: it is based on disk, which the manifest doesn't list"}},
	{"no vmlinux in the manifest", func(d *damage) {
		d.forget("vmlinux")
		for _, name := range []string{"nf_nat", "other", "raid"} {
			d.forget(name)
			os.Remove(filepath.Join(d.dir, name))
		}
	}, []string{"vmlinux: the manifest doesn't list this file, but all others need it",
		"vmlinux: the manifest doesn't list this file",
		"disk: missing base: it is based on vmlinux, which the manifest doesn't list"}},
	{"no base", func(d *damage) { d.file("nf_nat").Bases = []Base{} },
		[]string{"nf_nat: missing base: it has none, but must be based on vmlinux", onRAID}},
	{"vmlinux on a base", func(d *damage) {
		d.file("vmlinux").Bases = []Base{{"disk", d.file("disk").SHA256}}
	}, []string{onRAID, "vmlinux: it is based on disk, but must not have a base"}},
	{"the middle of a chain left out", func(d *damage) {
		f := d.file("raid")
		f.Bases = f.Bases[1:]
	}, []string{"raid: wrong base: it is based on disk, which has different bases here"}},
	{"names that are one to the kernel", func(d *damage) {
		f := *d.file("nf_nat")
		f.Name = "nf-nat"
		put(d, d.dir, "nf-nat", d.content("nf_nat"))
		d.m.Files = append(d.m.Files, f)
	}, []string{"nf_nat, nf-nat: the kernel names all of them nf_nat", onRAID}},
	{"a file twice", func(d *damage) { d.m.Files = append(d.m.Files, *d.file("nf_nat")) },
		[]string{"nf_nat, nf_nat: the kernel names all of them nf_nat", onRAID}},
	{"another name than the kernel's", func(d *damage) {
		os.Rename(filepath.Join(d.dir, "nf_nat"), filepath.Join(d.dir, "nf-nat"))
		d.file("nf_nat").Name = "nf-nat"
	}, []string{"nf-nat: the kernel names it nf_nat", onRAID}},
	{"another path", func(d *damage) { d.file("disk").Path = "kernel/drivers/disc.ko" },
		[]string{"disk: its path kernel/drivers/disc.ko is that of the module disc", onRAID}},
	{"a name that is a path", func(d *damage) { d.file("other").Name = "../other" },
		[]string{`"../other" can't be the name of a module`, "other: the manifest doesn't list this file",
			onRAID}},
	{"start id", func(d *damage) { d.file("nf_nat").StartID++ },
		[]string{"nf_nat: its first type id is 5, but the manifest says 6", onRAID}},
	{"string offset", func(d *damage) { d.file("nf_nat").StringOffset = 0 },
		[]string{"nf_nat: its string offset is 21, but the manifest says 0", onRAID}},
	{"number of types", func(d *damage) { d.file("vmlinux").Types = 99 },
		[]string{onRAID, "vmlinux: its number of types is 4, but the manifest says 99"}},
	{"an id out of range", func(d *damage) {
		data := d.content("nf_nat")
		const memberType = btf.HeaderLen + 12 + 4
		binary.LittleEndian.PutUint32(data[memberType:], 60)
		d.replace("nf_nat", data)
	}, []string{"nf_nat: [5] STRUCT opts refers to [60], but the last type is [5];", onRAID}},
	{"not BTF", func(d *damage) { d.replace("nf_nat", []byte("no BTF at all")) },
		[]string{"nf_nat: BTF at offset 0x0: no BTF magic", onRAID}},
	{"what the kernel refuses", func(d *damage) {
		data := d.content("nf_nat")
		const memberOffset = btf.HeaderLen + 12 + 8
		binary.LittleEndian.PutUint32(data[memberOffset:], 800)
		d.replace("nf_nat", data)
	}, []string{"nf_nat: the kernel rejects [5] STRUCT opts: ", onRAID}},
}

// damagedDir writes the archive of someRelease to a directory, and damages it.
func damagedDir(t *testing.T, c damageTest) string {
	t.Helper()
	a := must.Get(Build(someRelease(t, t.TempDir())))(t)
	d := &damage{t, t.TempDir(), &a.Manifest}
	must.OK(t, a.WriteDir(d.dir))
	c.change(d)
	data := must.Get(d.m.Encode())(t)
	os.Remove(filepath.Join(d.dir, ManifestName))
	put(t, d.dir, ManifestName, data)
	return d.dir
}

// wantProblems checks that each line of found begins as expected.
func wantProblems(t *testing.T, found, want []string) {
	t.Helper()
	matches := len(found) == len(want)
	for i := range found {
		matches = matches && strings.HasPrefix(found[i], want[i])
	}
	if !matches {
		t.Errorf("found\n  %s\nwant\n  %s", strings.Join(found, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestCheck(t *testing.T) {
	for _, c := range damages {
		t.Run(c.what, func(t *testing.T) {
			path := filepath.Join(damagedDir(t, c), ManifestName)
			found := must.Get(Check(path, Options{Rules: bootRules, Jobs: 2}))(t)
			wantProblems(t, found, c.want)
		})
	}
}

func TestNoManifest(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "not a manifest: unexpected end of JSON input"},
		{"{}", "not a manifest: it has no version"},
		{`{"version": 2, "files": "many"}`, "the manifest has version 2, but this tool reads version 1"},
		{`{"version": 1, "files": 3}`, "not a manifest: json: cannot unmarshal number"},
		{`{"version": 1, "files": []}`, "damaged manifest: it has no release; make the archive again"},
		{`{"version": 1, "release": null, "files": []}`, "damaged manifest: it has no release"},
		{`{"version": 1, "release": "7"}`, "damaged manifest: it has no files"},
	} {
		path := put(t, t.TempDir(), "m.json", []byte(c.text))
		_, err := Check(path, Options{Rules: bootRules, Jobs: 1})
		if err == nil || !strings.HasPrefix(err.Error(), path+": "+c.want) {
			t.Errorf("%s: %v", c.text, err)
		}
	}
}

// TestMissingFields removes each field of each file in a manifest.
func TestMissingFields(t *testing.T) {
	a := must.Get(Build(someRelease(t, t.TempDir())))(t)
	data := must.Get(a.Manifest.Encode())(t)
	var whole map[string]any
	must.OK(t, json.Unmarshal(data, &whole))
	for i, file := range whole["files"].([]any) {
		file := file.(map[string]any)
		for name, value := range file {
			for _, damage := range []func(){
				func() { delete(file, name) },
				func() { file[name] = nil },
			} {
				damage()
				data := must.Get(json.Marshal(whole))(t)
				want := fmt.Sprintf("file number %d has no %s", i+1, name)
				if _, err := parseManifest(data); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %s", err, want)
				}
				file[name] = value
			}
		}
	}
}

// FuzzManifest checks the archive of someRelease against any manifest.
func FuzzManifest(f *testing.F) {
	r := someRelease(f, f.TempDir())
	r.Modules, r.On = slices.Delete(r.Modules, 2, 3), nil // without raid, which is based on disk
	a := must.Get(Build(r))(f)
	dir := f.TempDir()
	must.OK(f, a.WriteDir(dir))
	data := must.Get(a.Manifest.Encode())(f)
	f.Add(data)
	f.Add([]byte(`{"version":1,"release":"7","files":[{"name":"a","sha256":"","size":1,"bases":[` +
		`{"name":"a"}],"start_id":1,"string_offset":0,"types":1,"conflicts":0,"path":""}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseManifest(data)
		if err != nil {
			return
		}
		c := newChecker(bootRules)
		c.in = directory(dir)
		if found := c.check(m, 1); len(found) > 0 {
			return
		}
		for i, x := range a.Manifest.Files {
			if y := c.files[x.Name]; y == nil || y.SHA256 != x.SHA256 || y.StartID != x.StartID {
				t.Errorf("Check finds no problem with file %d of %s", i, data)
			}
		}
	})
}
