package shipped

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/rpmpack"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/kernel/loader"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// types makes the BTF of a kernel with n integers.
func types(t testing.TB, n int) []byte {
	t.Helper()
	b := btf.NewBuilder(nil, nil, nil)
	for i := range n {
		b.Int(fmt.Sprintf("int%d", i), 4, btf.IntSigned, 0)
	}
	data := must.Get(b.Encode(btf.EncodeOptions{}))(t)
	return data
}

func object(t testing.TB, sections ...elfwrite.Section) string {
	return string(filetest.ELF(t, sections...))
}

// kernelOf makes a kernel of a release, whose BTF has n types.
func kernelOf(t testing.TB, release string, n int) string {
	text := "Linux version " + release + " (gcc)\x00failed to validate module [\x00"
	return object(t, elfwrite.Section{Name: btf.SectionTypes, Data: types(t, n)},
		elfwrite.Section{Name: ".rodata", Data: []byte(text)})
}

// moduleOf makes a module for a kernel that kernelOf made. The module's BTF refers to the kernel's
// last type.
func moduleOf(t testing.TB, release string, n int) string {
	t.Helper()
	base := must.Get(btf.Parse(types(t, n), nil))(t)
	b := btf.NewBuilder(nil, base, nil)
	b.Ref(btf.KindTypedef, "own", uint32(n))
	data := must.Get(b.Encode(btf.EncodeOptions{}))(t)
	return object(t, elfwrite.Section{Name: ".gnu.linkonce.this_module", Data: make([]byte, 8)},
		elfwrite.Section{Name: ".modinfo", Data: []byte("vermagic=" + release + " SMP\x00")},
		elfwrite.Section{Name: btf.SectionTypes, Data: data})
}

// deb makes a Debian package from files, which are pairs of a path and content.
func deb(d programtest.Dir, name string, files ...string) {
	for i := 0; i < len(files); i += 2 {
		d.Write(name+".tree/"+files[i], files[i+1])
	}
	d.Write(name+".tree/DEBIAN/control", "Package: p\nVersion: 1\nArchitecture: all\n"+
		"Maintainer: m <m@example.com>\nDescription: d\n")
	d.Run("dpkg-deb", "-b", name+".tree", name)
}

// rpm makes an RPM package.
func rpm(t testing.TB, d programtest.Dir, name string, files ...string) {
	t.Helper()
	r := must.Get(rpmpack.NewRPM(rpmpack.RPMMetaData{Name: "p", Version: "1", Compressor: "zstd"}))(t)
	for i := 0; i < len(files); i += 2 {
		r.AddFile(rpmpack.RPMFile{Name: "/" + files[i], Body: []byte(files[i+1]), Mode: 0o644})
	}
	f := must.Get(os.Create(d.Path(name)))(t)
	defer f.Close()
	must.OK(t, r.Write(f))
}

// TestFind looks for kernels and modules in all kinds of inputs.
func TestFind(t *testing.T) {
	programtest.Need(t, "dpkg-deb", "xz", "zstd", "gzip", "tar")
	d := programtest.NewDir(t)
	const r1, r2 = "7.2.1", "7.2.2"
	kernel, module := kernelOf(t, r1, 3), moduleOf(t, r1, 3)
	kernel2, module2 := kernelOf(t, r2, 4), moduleOf(t, r2, 4)
	for name, content := range map[string]string{
		"k1": kernel, "k2": kernel2, "m1.ko": module, "raw.btf": string(types(t, 3)), "empty": "",
		"text": "neither", "lib/modules/7.2.1/vmlinuz": kernel, "unsigned/vmlinuz.unsigned": kernel,
		"lib/modules/7.2.1/kernel/a.ko": module, "lib/modules/7.2.1/kernel/b.ko": module,
		"lib/modules/7.2.1/kernel/c.ko": module, "lib/modules/7.2.1/kernel/d.ko": module,
		"lib/modules/7.2.1/vmlinux.h": "", "lib/modules/7.2.1/modules.dep": "",
		"tree/usr/lib/debug/lib/modules/7.2.1/e.ko": "skipped", "tree/f.ko": module[:len(module)/2],
		"image/vmlinuz": "\x1f\x8b\x08damaged", "other/vmlinux": kernelOf(t, r1, 2),
		"nothing/vmlinux": object(t), "cut.ko.xz/g.ko.xz": "\xfd7zXZ\x00", "neither/README": "",
		"empty.ko/empty.ko": "", "html.ko": "<html>", "object.ko": object(t), "pipe/README": "",
	} {
		d.Write(name, content)
	}
	const dir = "lib/modules/7.2.1/kernel/"
	d.Run("xz", dir+"b.ko")
	d.Run("zstd", "-q", "--rm", dir+"c.ko")
	d.Run("gzip", dir+"d.ko")
	must.OK(t, os.Symlink("/nonexistent/l.ko", d.Path(dir+"l.ko")))
	must.OK(t, syscall.Mkfifo(d.Path("pipe/p.ko"), 0o666))
	deb(d, "neither.deb", "README", "")
	deb(d, "kernel.deb", "boot/vmlinuz-7.2.1", kernel)
	deb(d, "modules.deb", dir+"a.ko", module)
	rpm(t, d, "kernel2.rpm", "lib/modules/7.2.2/vmlinuz", kernel2)
	rpm(t, d, "modules2.rpm", "lib/modules/7.2.2/kernel/a.ko", module2)
	d.Run("tar", "-czf", "tree.tar.gz", "lib")
	all := []string{"a.ko", "b.ko.xz", "c.ko.zst", "d.ko.gz"}

	for _, c := range []struct {
		inputs string
		want   string // modules, each with the release of its kernel and the verdict; or the error
	}{
		{"lib/modules/7.2.1", "a.ko 7.2.1 loads, b.ko.xz 7.2.1 loads, c.ko.zst 7.2.1 loads, " +
			"d.ko.gz 7.2.1 loads"},
		{"tree.tar.gz", strings.Join(all, " 7.2.1 loads, ") + " 7.2.1 loads"},
		{"kernel.deb modules.deb", "a.ko 7.2.1 loads"},
		{"modules.deb kernel.deb unsigned", "a.ko 7.2.1 loads"},
		{"kernel2.rpm modules2.rpm kernel.deb modules.deb", "a.ko 7.2.1 loads, a.ko 7.2.2 loads"},
		{"kernel.deb modules2.rpm",
			"a.ko 7.2.1 refused: it was built for the release 7.2.2, but the kernel is 7.2.1"},
		{"k1 m1.ko", "m1.ko 7.2.1 loads"},
		{"raw.btf m1.ko", "m1.ko  loads"},
		{"k1 tree", "f.ko 7.2.1 refused: truncated: "},
		{"k1 cut.ko.xz", "g.ko.xz 7.2.1 refused: (xz): damaged"},
		{"k2 kernel.deb m1.ko", "m1.ko 7.2.1 loads"},
		{"kernel2.rpm other m1.ko modules2.rpm", "a.ko 7.2.2 loads, m1.ko 7.2.1 refused: "},
		{"k1 raw.btf m1.ko", "raw.btf: its release is unknown, so it can't be passed together with"},
		{"k1 other m1.ko", `have different BTF, but the same release "7.2.1"`},
		{"tree/usr", "usr: it has 1 file with debugging information (below lib/debug), but none that"},
		{"kernel.deb m1.ko tree/usr", "usr: it has 1 file with debugging information"},
		{"kernel.deb m1.ko neither", "neither: no kernel and no module in this file or directory; to " +
			"check an archive of BTF, add --manifest"},
		{"kernel.deb neither.deb m1.ko", "neither.deb: no kernel and no module in this file or"},
		{"kernel.deb m1.ko pipe", "p.ko 7.2.1 refused: neither a regular file nor a link"},
		{"kernel.deb m1.ko pipe/p.ko", "p.ko: neither a regular file nor a directory"},
		{"kernel.deb empty.ko", "empty.ko 7.2.1 refused: empty file, expected a kernel or a module"},
		{"kernel.deb html.ko", "html.ko 7.2.1 refused: neither a kernel, a module, a package, nor BTF"},
		{"kernel.deb object.ko", "object.ko 7.2.1 refused: it is not a module: it has no section"},
		{"m1.ko", "no kernel: pass the kernel's image"},
		{"k1 text", "text: neither a kernel, a module, a package, nor BTF"},
		{"k1 empty", "empty: "},
		{"k1 none", "no such file"},
		{"k1 nothing", "vmlinux: neither a kernel (it has no BTF"},
		{"image k1", "vmlinuz (gzip): damaged"},
	} {
		var inputs []string
		for input := range strings.FieldsSeq(c.inputs) {
			inputs = append(inputs, d.Path(input))
		}
		for _, jobs := range []int{1, 4} {
			if got := judged(inputs, jobs); !strings.Contains(got, c.want) {
				t.Errorf("%s with %d threads: %s\nwant %s", c.inputs, jobs, got, c.want)
			}
		}
	}

	found, err := Find([]string{d.Path("lib")}, Options{Jobs: 1})
	if err != nil || !slices.Equal(found.Links, []string{d.Path(dir + "l.ko")}) {
		t.Errorf("links %q, %v", found.Links, err)
	}
	for name, want := range map[string]bool{"lib": true, "kernel.deb": true, "kernel2.rpm": true,
		"tree.tar.gz": true, "m1.ko": true, dir + "b.ko.xz": true, "raw.btf": false, "k1": false,
		"text": false, "none": false} {
		if is := Is(d.Path(name)); is != want {
			t.Errorf("Is(%s): %v", name, is)
		}
	}
}

// TestOrder passes kernels and packages of many modules in different orders, so that modules wait
// for kernels in earlier and later inputs. The verdicts don't depend on the order.
func TestOrder(t *testing.T) {
	programtest.Need(t, "tar")
	d := programtest.NewDir(t)
	const each = maxUnsettled*2 + 100
	releases := []string{"7.2.1", "7.2.2", "7.2.3"}
	var inputs []string
	for i, release := range releases {
		d.Write(release+"/boot/vmlinuz", kernelOf(t, release, 3+i))
		module := moduleOf(t, releases[i], 3+i)
		for n := range each {
			d.Write(fmt.Sprintf("mixed%d/%s.%d.ko", n%2, release, n), module)
		}
		inputs = append(inputs, d.Path(release))
	}
	for _, name := range []string{"mixed0", "mixed1"} {
		d.Run("tar", "-cf", name+".tar", name)
		inputs = append(inputs, d.Path(name+".tar"))
	}
	for _, order := range [][]int{{0, 1, 2, 3, 4}, {3, 4, 0, 1, 2}, {0, 3, 1, 4, 2}, {4, 2, 3, 1, 0}} {
		var ordered []string
		for _, i := range order {
			ordered = append(ordered, inputs[i])
		}
		for _, jobs := range []int{1, 2, 8} {
			found, err := Find(ordered, Options{Jobs: jobs})
			if err != nil || len(found.Modules) != len(releases)*each {
				t.Fatalf("%v, %d threads: %v, %d modules", order, jobs, err, len(found.Modules))
			}
			for _, r := range found.Modules {
				if r.Outcome != loader.Loads || !strings.HasPrefix(path.Base(r.Path), r.Kernel+".") {
					t.Fatalf("%v, %d threads: %+v", order, jobs, r)
				}
			}
		}
	}
}

// TestFirstError: of several inputs that can't be read, the first one is reported.
func TestFirstError(t *testing.T) {
	d := programtest.NewDir(t)
	d.Write("k", kernelOf(t, "7.2.1", 3))
	inputs := []string{d.Path("k"), d.Path("missing1"), d.Path("missing2"), d.Path("missing3")}
	for _, jobs := range []int{1, 2, 8} {
		_, err := Find(inputs, Options{Jobs: jobs})
		if err == nil || !strings.Contains(err.Error(), "missing1") {
			t.Errorf("%d threads: %v", jobs, err)
		}
	}
}

// judged describes the verdicts on the modules in some inputs, or the error.
func judged(inputs []string, jobs int) string {
	found, err := Find(inputs, Options{Jobs: jobs})
	if err != nil {
		return err.Error()
	}
	var list []string
	for _, r := range found.Modules {
		text := fmt.Sprintf("%s %s %v", path.Base(r.Path), r.Kernel, r.Outcome)
		if r.Why != "" {
			text += ": " + r.Why
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
