package archive

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/kernel/distill"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// blob makes raw BTF.
func blob(t testing.TB, base *btf.Blob, add func(b *btf.Builder)) ([]byte, *btf.Blob) {
	t.Helper()
	b := btf.NewBuilder(nil, base, nil)
	add(b)
	data := must.Get(b.Encode(btf.EncodeOptions{}))(t)
	return data, b.Blob
}

func kernelBTF(t testing.TB) ([]byte, *btf.Blob) {
	return blob(t, nil, func(b *btf.Builder) {
		i := b.Int("int", 4, btf.IntSigned, 0)
		member := btf.Member{NameOff: b.Name("first"), Type: i}
		b.Composite(btf.KindStruct, "list", 8, false, member)
		b.Composite(btf.KindStruct, "opts", 8, false, member)
		b.Composite(btf.KindStruct, "opts", 16, false, member)
	})
}

// embeds returns a function that adds a struct with the given name to split BTF. A member of this
// struct is the base's struct list.
func embeds(name string) func(b *btf.Builder) {
	return func(b *btf.Builder) {
		b.Composite(btf.KindStruct, name, 8, false, btf.Member{NameOff: b.Name("list"), Type: 2})
	}
}

// put writes a file to a directory, and returns its path.
func put(t testing.TB, dir, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	must.OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
	must.OK(t, os.WriteFile(path, data, 0o666))
	return path
}

var elfObject = filetest.ELF

// someRelease writes a release to a directory: vmlinux, and modules whose BTF is raw, in an ELF
// file, on a distilled base, or based on another module.
func someRelease(t testing.TB, dir string) Release {
	t.Helper()
	rawKernel, kernel := kernelBTF(t)
	rawDisk, disk := blob(t, kernel, embeds("disk"))
	rawNAT, _ := blob(t, kernel, embeds("opts"))
	rawRAID, _ := blob(t, disk, func(b *btf.Builder) {
		b.Composite(btf.KindStruct, "raid", 8, false, btf.Member{NameOff: b.Name("disk"), Type: 5})
	})
	rawOther, _ := blob(t, kernel, embeds("other"))
	distilled, split := must.Get2(distill.Encode(rawOther, kernel))(t)
	note := binary.LittleEndian.AppendUint32(nil, 4)
	note = binary.LittleEndian.AppendUint32(note, 3)
	note = binary.LittleEndian.AppendUint32(note, 3)
	note = append(note, "GNU\x00\xab\xcd\xef\x00"...)
	return Release{
		Name: "7.2.12-test",
		Vmlinux: put(t, dir, "a/kernel.elf", elfObject(t, elfwrite.Section{Name: ".notes", Data: note},
			elfwrite.Section{Name: ".BTF", Data: rawKernel})),
		Modules: []Module{
			{File: put(t, dir, "b/nf-nat.btf", rawNAT)},
			{File: put(t, dir, "c/anything", elfObject(t, elfwrite.Section{Name: ".BTF", Data: rawDisk},
				elfwrite.Section{Name: ".modinfo", Data: []byte("license=GPL\x00name=disk\x00")}))},
			{File: put(t, dir, "raid.btf", rawRAID), Path: "kernel/drivers/md/raid.ko"},
			{File: put(t, dir, "other.ko", elfObject(t, elfwrite.Section{Name: ".BTF", Data: split},
				elfwrite.Section{Name: ".BTF.base", Data: distilled}))},
		},
		On:   map[string]string{"raid": "disk"},
		Jobs: 2,
	}
}

// tarOf builds a release, and returns the tar archive uncompressed and compressed.
func tarOf(t *testing.T, r Release) (plain, compressed []byte) {
	t.Helper()
	a := must.Get(Build(r))(t)
	var p, c bytes.Buffer
	must.OK(t, a.WriteTar(&p, ".tar"))
	must.OK(t, a.WriteTar(&c, ".tar.zst"))
	return p.Bytes(), c.Bytes()
}

// TestSameBytes: a release gives the same bytes if its files are in different directories or in a
// different order, or if the number of threads is different.
func TestSameBytes(t *testing.T) {
	plain, compressed := tarOf(t, someRelease(t, t.TempDir()))
	for seed := range int64(10) {
		r := someRelease(t, t.TempDir())
		rand.New(rand.NewSource(seed)).Shuffle(len(r.Modules), func(i, j int) {
			r.Modules[i], r.Modules[j] = r.Modules[j], r.Modules[i]
		})
		r.Jobs = 1 + int(seed)%3
		if p, c := tarOf(t, r); !bytes.Equal(p, plain) || !bytes.Equal(c, compressed) {
			t.Errorf("seed %d: different bytes", seed)
		}
	}
	z := must.Get(zstd.NewReader(bytes.NewReader(compressed)))(t)
	defer z.Close()
	if back, err := io.ReadAll(z); err != nil || !bytes.Equal(back, plain) {
		t.Errorf("the decompressed tar differs: %v", err)
	}
}

// TestTar compares the files in the tar archive with those that WriteDir writes.
func TestTar(t *testing.T) {
	r := someRelease(t, t.TempDir())
	plain, _ := tarOf(t, r)
	a := must.Get(Build(r))(t)
	dir := t.TempDir()
	must.OK(t, a.WriteDir(dir))
	var inTar, inDir []string
	for x := tar.NewReader(bytes.NewReader(plain)); ; {
		h, err := x.Next()
		if err == io.EOF {
			break
		}
		must.OK(t, err)
		data, err := io.ReadAll(x)
		must.OK(t, err)
		if h.Mode != 0o444 || h.Uid+h.Gid != 0 || h.Uname+h.Gname != "" ||
			h.ModTime.Unix() != 0 || h.Typeflag != tar.TypeReg || h.Format != tar.FormatUSTAR {
			t.Errorf("%+v", h)
		}
		inTar = append(inTar, h.Name+" "+string(data))
	}
	list := must.Get(os.ReadDir(dir))(t)
	for _, e := range list {
		data := must.Get(os.ReadFile(filepath.Join(dir, e.Name())))(t)
		if info, err := e.Info(); err != nil || info.Mode() != 0o444 {
			t.Errorf("%s: mode %v, %v", e.Name(), info.Mode(), err)
		}
		inDir = append(inDir, e.Name()+" "+string(data))
	}
	if a, b := fmt.Sprintf("%q", inTar), fmt.Sprintf("%q", inDir); a != b {
		t.Errorf("in the tar:\n%s\nin the directory:\n%s", a, b)
	}
}

// TestManifest checks what the manifest says about each file.
func TestManifest(t *testing.T) {
	a, err := Build(someRelease(t, t.TempDir()))
	must.OK(t, err)
	m := a.Manifest
	if m.Version != 1 || m.Release != "7.2.12-test" || m.BuildID != "abcdef" {
		t.Errorf("version %d, release %s, build id %s", m.Version, m.Release, m.BuildID)
	}
	sums := map[string]string{}
	for _, f := range m.Files {
		sums[f.SHA256] = f.Name
	}
	var got []string
	for _, f := range m.Files {
		line := fmt.Sprintf("%s: %d types from %d, strings from %d, %d conflicts, on", f.Name, f.Types,
			f.StartID, f.StringOffset, f.Conflicts)
		for _, b := range f.Bases {
			line += " " + b.Name
			if sums[b.SHA256] != b.Name {
				t.Errorf("%s: SHA-256 %s of the base %s is that of %s", f.Name, b.SHA256, b.Name,
					sums[b.SHA256])
			}
		}
		got = append(got, strings.TrimSpace(line+" "+f.Path))
	}
	want := []string{
		"disk: 1 types from 5, strings from 21, 0 conflicts, on vmlinux",
		"nf_nat: 1 types from 5, strings from 21, 1 conflicts, on vmlinux",
		"other: 1 types from 5, strings from 21, 0 conflicts, on vmlinux",
		"raid: 1 types from 6, strings from 26, 0 conflicts, on vmlinux disk" +
			" kernel/drivers/md/raid.ko",
		"vmlinux: 4 types from 1, strings from 0, 1 conflicts, on",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the manifest says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	data, err := m.Encode()
	must.OK(t, err)
	again, err := parseManifest(data)
	if err != nil || fmt.Sprint(*again) != fmt.Sprint(m) {
		t.Errorf("read again, the manifest is %+v, %v", again, err)
	}
}

// TestDistilledFile reads the distilled base of a module from a separate file.
func TestDistilledFile(t *testing.T) {
	dir := t.TempDir()
	r := someRelease(t, dir)
	want, _ := tarOf(t, r)
	s := must.Get(readSource(filepath.Join(dir, "other.ko")))(t)
	r.Modules[3].File = put(t, dir, "other.btf", s.raw)
	r.Distilled = map[string]string{"other": put(t, dir, "base.btf", s.distilled)}
	if got, _ := tarOf(t, r); !bytes.Equal(got, want) {
		t.Error("the archive differs from the one made from an ELF file")
	}
}

// TestBpftool reads each file of an archive with bpftool.
func TestBpftool(t *testing.T) {
	programtest.Need(t, "bpftool")
	a := must.Get(Build(someRelease(t, t.TempDir())))(t)
	dir := t.TempDir()
	must.OK(t, a.WriteDir(dir))
	for _, c := range []struct{ file, want string }{
		{"disk", "[5] STRUCT 'disk' size=8 vlen=1\n\t'list' type_id=2 bits_offset=0\n"},
		{"nf_nat", "[5] STRUCT 'opts' size=8 vlen=1\n\t'list' type_id=2 bits_offset=0\n"},
		{"other", "[5] STRUCT 'other' size=8 vlen=1\n\t'list' type_id=2 bits_offset=0\n"},
	} {
		out, err := exec.Command("bpftool", "-B", filepath.Join(dir, Vmlinux), "btf", "dump", "file",
			filepath.Join(dir, c.file)).CombinedOutput()
		if err != nil || string(out) != c.want {
			t.Errorf("%s: %v\n%s", c.file, err, out)
		}
	}
}

func TestName(t *testing.T) {
	for path, want := range map[string]string{
		"kernel/net/netfilter/nf-nat.ko": "nf_nat", "nf_nat.btf": "nf_nat", "xfs.ko.debug": "xfs",
		"out/snd-hda,codec.ko.btf": "snd_hda_codec", "fs/ext4/ext4.mod": "ext4", "vmlinux": "vmlinux",
		"": ".",
	} {
		if got := Name(path); got != want {
			t.Errorf("Name(%q) = %q, want %q", path, got, want)
		}
	}
}

// TestBuildID compares the build id with the output of readelf.
func TestBuildID(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "program")
	put(t, dir, "program.c", []byte("int main(void) { return 0; }\n"))
	programtest.Run(t, dir, "gcc", "-g", "-Wl,--build-id=sha1", "-o", file, file+".c")
	raw, _ := kernelBTF(t)
	btfFile := put(t, dir, "raw.btf", raw)
	programtest.Run(t, dir, "objcopy", "--add-section", ".BTF="+btfFile, file)
	_, want, _ := strings.Cut(programtest.Run(t, dir, "readelf", "-n", file), "Build ID: ")
	want, _, _ = strings.Cut(want, "\n")
	a, err := Build(Release{Name: "1", Vmlinux: file, Jobs: 1})
	if err != nil || want == "" || a.Manifest.BuildID != want {
		t.Fatalf("build id %q, readelf says %q: %v", a.Manifest.BuildID, want, err)
	}
}

// TestBuildRefuses builds releases whose files don't fit together.
func TestBuildRefuses(t *testing.T) {
	_, kernel := kernelBTF(t)
	for _, c := range []struct {
		what   string
		change func(r *Release, dir string)
		want   string
	}{
		{"two names that are one to the kernel", func(r *Release, dir string) {
			raw, _ := blob(t, kernel, embeds("x"))
			r.Modules = append(r.Modules, Module{File: put(t, dir, "nf_nat.btf", raw)})
		}, "DIR/b/nf-nat.btf and DIR/nf_nat.btf: both have the same module name in the kernel, nf_nat"},
		{"a module of the kernel's name", func(r *Release, dir string) {
			raw, _ := blob(t, kernel, embeds("x"))
			r.Modules = []Module{{File: put(t, dir, "x.btf", raw), Path: "vmlinux"}}
		}, "both have the same module name in the kernel, vmlinux"},
		{"another base, longer", func(r *Release, dir string) {
			_, longer := blob(t, kernel, embeds("more_of_the_kernel"))
			raw, _ := blob(t, longer, embeds("x"))
			r.Modules = append(r.Modules, Module{File: put(t, dir, "x.btf", raw)})
		}, "DIR/x.btf: read as BTF based on vmlinux: "},
		{"another base, shorter", func(r *Release, dir string) {
			_, shorter := blob(t, nil, func(b *btf.Builder) {
				b.Int("int", 4, 0, 0)
				b.Composite(btf.KindStruct, "li", 8, false)
			})
			raw, _ := blob(t, shorter, embeds("some_name"))
			r.Modules = append(r.Modules, Module{File: put(t, dir, "x.btf", raw)})
		}, "DIR/x.btf: read as BTF based on vmlinux: [5] STRUCT: a name is at string offset "},
		{"a type that doesn't exist", func(r *Release, dir string) {
			raw, _ := blob(t, kernel, func(b *btf.Builder) { b.Ref(btf.KindPtr, "", 77) })
			r.Modules = append(r.Modules, Module{File: put(t, dir, "x.btf", raw)})
		}, "DIR/x.btf: read as BTF based on vmlinux: [5] PTR refers to [77], but the last type is [5]"},
		{"what the kernel refuses", func(r *Release, dir string) {
			raw, _ := blob(t, kernel, func(b *btf.Builder) { b.Ref(btf.KindTypedef, "1st", 1) })
			r.Modules = append(r.Modules, Module{File: put(t, dir, "x.btf", raw)})
		}, "DIR/x.btf: read as BTF based on vmlinux: the kernel rejects [5] TYPEDEF 1st: name-invalid"},
		{"vmlinux on a base", func(r *Release, dir string) { r.Vmlinux = r.Modules[3].File },
			"DIR/other.ko: it has a base, so it is not the BTF of vmlinux"},
		{"a distilled base that doesn't fit", func(r *Release, dir string) {
			raw, _ := blob(t, nil, func(b *btf.Builder) { b.Int("int", 4, 1, 0) })
			r.Vmlinux, r.Modules, r.On = put(t, dir, "v", raw), r.Modules[3:], nil
		}, "DIR/other.ko: type [1] STRUCT list (8 bytes) of the distilled base is not in the base"},
		{"the name of another module", func(r *Release, dir string) { r.Modules[1].Path = "a/b/x.ko" },
			"DIR/c/anything: it is the module disk, not x"},
		{"no name", func(r *Release, dir string) { r.Modules[0].Path = "kernel/.ko" },
			`DIR/b/nf-nat.btf: "" can't be the name of a module`},
		{"a distilled base of no module", func(r *Release, dir string) {
			r.Distilled = map[string]string{"x": "file"}
		}, "file is the distilled base of x, but there is no such module"},
		{"a distilled base that is missing", func(r *Release, dir string) {
			r.Distilled = map[string]string{"disk": dir + "/none"}
		}, "open DIR/none: no such file"},
		{"another distilled base", func(r *Release, dir string) {
			r.Distilled = map[string]string{"nf_nat": r.Modules[0].File}
		}, "DIR/b/nf-nat.btf: distilled base: BTF at "},
		{"on no module", func(r *Release, dir string) { r.On["raid"] = "x" },
			"raid should be based on x, but there is no module x"},
		{"on itself", func(r *Release, dir string) { r.On["disk"] = "raid" },
			"the module disk is based on itself"},
		{"not on the other module", func(r *Release, dir string) { r.On = nil },
			"DIR/raid.btf: read as BTF based on vmlinux: "},
		{"no BTF", func(r *Release, dir string) { r.Modules[0].File = put(t, dir, "x.ko", elfObject(t)) },
			"DIR/x.ko: the ELF file has no section .BTF"},
		{"an empty file", func(r *Release, dir string) {
			r.Modules[0].File = put(t, dir, "x.btf", nil)
		}, "DIR/x.btf: empty file, expected BTF"},
	} {
		dir := t.TempDir()
		r := someRelease(t, dir)
		c.change(&r, dir)
		_, err := Build(r)
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), dir, "DIR"), c.want) {
			t.Errorf("%s: error %v\nwant %s", c.what, err, c.want)
		}
	}
}
