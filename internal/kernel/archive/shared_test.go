package archive

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/kernel/distill"
)

// sharedRelease is a release with a shared base. One module is based on the shared base, and
// another module on that module. A third one is based on vmlinux, and a fourth one is relocated to
// vmlinux.
func sharedRelease(t testing.TB, dir string) Release {
	t.Helper()
	rawKernel, kernel := kernelBTF(t)
	rawShared, shared := blob(t, kernel, embeds("common"))
	on := func(base *btf.Blob, name string, id uint32) ([]byte, *btf.Blob) {
		return blob(t, base, func(b *btf.Builder) {
			b.Composite(btf.KindStruct, name, 8, false, btf.Member{NameOff: b.Name("m"), Type: id})
		})
	}
	rawDisk, disk := on(shared, "disk", 5)
	rawRAID, _ := on(disk, "raid", 6)
	rawAlone, _ := blob(t, kernel, embeds("alone"))
	rawOther, _ := blob(t, kernel, embeds("other"))
	distilled, split, err := distill.Encode(rawOther, kernel)
	if err != nil {
		t.Fatal(err)
	}
	return Release{
		Name:    "7.2.12-test",
		Vmlinux: put(t, dir, "vmlinux.btf", rawKernel),
		Shared:  put(t, dir, "any.shared.btf", rawShared),
		Modules: []Module{
			{File: put(t, dir, "disk.btf", rawDisk)}, {File: put(t, dir, "raid.btf", rawRAID)},
			{File: put(t, dir, "alone.btf", rawAlone)},
			{File: put(t, dir, "other.ko", elfObject(t, elfwrite.Section{Name: ".BTF", Data: split},
				elfwrite.Section{Name: ".BTF.base", Data: distilled}))},
		},
		On: map[string]string{"raid": "disk", "alone": Vmlinux},
	}
}

// written builds a release and writes it to a directory. It returns the path of the manifest.
func written(t *testing.T, r Release) (string, *Archive) {
	t.Helper()
	a, err := Build(r)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := a.WriteDir(dir); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, ManifestName), a
}

// TestSharedBase: the manifest lists what is based on the shared base, and Check reports what the
// archive can't be used for.
func TestSharedBase(t *testing.T) {
	r := sharedRelease(t, t.TempDir())
	r.On = map[string]string{"alone": Vmlinux}
	r.Modules = slices.DeleteFunc(r.Modules, func(m Module) bool {
		return strings.HasSuffix(m.File, "raid.btf")
	})
	path, a := written(t, r)
	if a.Manifest.SharedBase != SharedBase {
		t.Errorf("the shared base is %q", a.Manifest.SharedBase)
	}
	bases := map[string]string{}
	for _, f := range a.Manifest.Files {
		for _, b := range f.Bases {
			bases[f.Name] += b.Name + " "
		}
	}
	if got, want := fmt.Sprint(bases), fmt.Sprint(map[string]string{"alone": "vmlinux ",
		"disk": "vmlinux shared-base ", "other": "vmlinux ", "shared-base": "vmlinux "}); got != want {
		t.Errorf("bases %s, want %s", got, want)
	}
	var notes []string
	opts := Options{Note: func(line string) { notes = append(notes, line) }}
	found, err := Check(path, opts)
	if err != nil || len(found) > 0 {
		t.Errorf("%v %v", found, err)
	}
	if len(notes) != 1 || !strings.Contains(notes[0],
		"are based on the shared base shared-base, so the archive is for tools") {
		t.Errorf("notes: %q", notes)
	}
	opts.Kernel = true
	found, err = Check(path, opts)
	if want := "shared-base: modules are based on it, but the kernel only accepts modules based " +
		"on vmlinux"; err != nil || len(found) != 1 || found[0] != want {
		t.Errorf("for the kernel: %q %v", found, err)
	}
	opts.Images.Modules = filepath.Dir(path)
	if _, err = Check(path, opts); err == nil || !strings.Contains(err.Error(), "can't be compared") {
		t.Errorf("with modules: %v", err)
	}

	// The result is the same for any order, and for a tar archive.
	slices.Reverse(r.Modules)
	_, again := written(t, r)
	var one, two bytes.Buffer
	if a.WriteTar(&one, ".tar") != nil || again.WriteTar(&two, ".tar") != nil ||
		!bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Error("a different order gives different bytes")
	}
	found, err = Check(put(t, t.TempDir(), "a.tar", one.Bytes()), Options{})
	if err != nil || len(found) > 0 {
		t.Errorf("tar: %v %v", found, err)
	}
}

// TestSharedBaseChains: Check reports a module that is based on another module, and a manifest that
// is wrong about the shared base.
func TestSharedBaseChains(t *testing.T) {
	for _, c := range []struct {
		name, old, new string // a change of the manifest
		want           []string
	}{
		{"module on module", "", "", []string{"raid: it is based on disk, but the kernel"}},
		{"no shared_base in the manifest", `  "shared_base": "shared-base",` + "\n", "", []string{
			"disk: it is based on shared-base, but", "raid: it is based on disk, but",
			"shared-base: the kernel names it shared_base"}},
		{"another name", `"shared_base": "shared-base"`, `"shared_base": "none"`, []string{
			"none: the manifest doesn't list this file", "disk: it is based on shared-base, but",
			"raid: it is based on disk, but", "shared-base: the kernel names it shared_base"}},
		{"a module", `"shared_base": "shared-base"`, `"shared_base": "alone"`, []string{
			"alone: the shared base must not have a name that a module",
			"disk: it is based on shared-base, but",
			"raid: it is based on disk, but", "shared-base: the kernel names it shared_base"}},
		{"vmlinux", `"shared_base": "shared-base"`, `"shared_base": "vmlinux"`, []string{
			"disk: it is based on shared-base, but", "raid: it is based on disk, but",
			"shared-base: the kernel names it shared_base",
			"vmlinux: the shared base must not have a name that a module"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path, _ := written(t, sharedRelease(t, t.TempDir()))
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(string(data), c.old, c.new, 1)
			if c.old != "" && changed == string(data) {
				t.Fatal("nothing is changed")
			}
			if err := os.Chmod(path, 0o666); err != nil {
				t.Fatal(err)
			}
			put(t, filepath.Dir(path), ManifestName, []byte(changed))
			found, err := Check(path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			wantProblems(t, found, c.want)
		})
	}
}

// TestSharedBaseRefused builds releases with invalid shared bases.
func TestSharedBaseRefused(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(r *Release)
	}{
		{"no such file", func(r *Release) { r.Shared += "none" }},
		{"disk.btf: read as BTF based on vmlinux", func(r *Release) {
			*r = Release{Name: r.Name, Vmlinux: r.Vmlinux, Shared: r.Modules[0].File}
		}},
		{"is based on a distilled base", func(r *Release) { r.Shared = r.Modules[3].File }},
		{"there is a list of objects for shared-base", func(r *Release) {
			r.Objects = map[string][]string{SharedBase: {"a.o"}}
		}},
		{"there is no module shared-base", func(r *Release) { r.On["raid"] = SharedBase }},
	} {
		r := sharedRelease(t, t.TempDir())
		c.change(&r)
		if _, err := Build(r); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}
