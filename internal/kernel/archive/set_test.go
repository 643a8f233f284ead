package archive

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// setFiles makes the BTF of a kernel, of a module, and of a module that is based on that module.
func setFiles(t testing.TB) (kernel, module, above string) {
	t.Helper()
	encode := func(b *btf.Builder, base *btf.Blob) (string, *btf.Blob) {
		data := must.Get(b.Encode(btf.EncodeOptions{}))(t)
		blob := must.Get(btf.Parse(data, base))(t)
		return string(data), blob
	}
	k := btf.NewBuilder(nil, nil, nil)
	k.Int("int", 4, 0, 0)
	kernel, base := encode(k, nil)
	m := btf.NewBuilder(nil, base, nil)
	m.Ref(btf.KindTypedef, "mod_t", 1)
	module, on := encode(m, base)
	a := btf.NewBuilder(nil, on, nil)
	a.Ref(btf.KindTypedef, "above_t", 2)
	above, _ = encode(a, on)
	return kernel, module, above
}

func TestReadSet(t *testing.T) {
	kernel, module, above := setFiles(t)
	manifest := func(files ...string) string {
		var list []string
		for _, f := range files {
			name, bases, _ := strings.Cut(f, " on ")
			var on []string
			for _, b := range strings.Fields(bases) {
				on = append(on, fmt.Sprintf(`{"name": %q, "sha256": ""}`, b))
			}
			list = append(list, fmt.Sprintf(`{"name": %q, "sha256": "", "size": 0, "bases": [%s], `+
				`"start_id": 0, "string_offset": 0, "types": 0, "conflicts": 0, "path": ""}`, name,
				strings.Join(on, ", ")))
		}
		return `{"version": 1, "release": "7.2", "files": [` + strings.Join(list, ", ") + `]}`
	}
	for _, c := range []struct {
		name  string
		files []string // alternating names and contents
		want  string   // the modules, each with the number of types in its chain of bases; or an error
	}{
		{"files of btfgen modules", []string{"vmlinux.btf", kernel, "nf-nat.btf", module, "README",
			"x"}, "nf_nat 2"},
		{"files of /sys/kernel/btf", []string{"vmlinux", kernel, "ext4", module}, "ext4 2"},
		{"a kernel alone", []string{"vmlinux", kernel}, ""},
		{"an archive", []string{"vmlinux", kernel, "ext4", module, "manifest.json",
			manifest("vmlinux", "ext4 on vmlinux"), "other", "not listed"}, "ext4 2"},
		{"a module on a module", []string{"vmlinux", kernel, "a", above, "b", module,
			"manifest.json", manifest("vmlinux", "a on vmlinux b", "b on vmlinux")}, "a 3, b 2"},
		{"no kernel", []string{"ext4.btf", module}, ": the directory or archive has no file vmlinux or"},
		{"damaged", []string{"vmlinux", kernel, "ext4", module[:30]}, ": ext4: "},
		{"a different kernel", []string{"vmlinux", kernel, "ext4", above}, ": ext4: "},
		{"two files of one module", []string{"vmlinux.btf", kernel, "a-b.btf", module, "a_b.btf", module},
			": a-b.btf and a_b.btf are the same module for the kernel"},
		{"a manifest without the kernel", []string{"m", module, "manifest.json", manifest("m")},
			": manifest.json: it doesn't list vmlinux"},
		{"a missing base", []string{"vmlinux", kernel, "a", above, "manifest.json",
			manifest("vmlinux", "a on vmlinux b")}, ": a: it is based on b, which is missing"},
		{"bases in a circle", []string{"vmlinux", kernel, "a", module, "b", module, "manifest.json",
			manifest("vmlinux", "a on b", "b on a")}, "more than 8 files are based on each other"},
		{"a path that leads out", []string{"vmlinux", kernel, "manifest.json",
			manifest("vmlinux", "../x on vmlinux")}, `"../x" can't be the name of a module`},
		{"a file that is missing", []string{"vmlinux", kernel, "manifest.json",
			manifest("vmlinux", "x on vmlinux")}, ": x: the file is missing"},
	} {
		dir := t.TempDir()
		for i := 0; i < len(c.files); i += 2 {
			must.OK(t, os.WriteFile(filepath.Join(dir, c.files[i]), []byte(c.files[i+1]), 0o666))
		}
		tar := filepath.Join(t.TempDir(), "set.tar")
		must.OK(t, os.WriteFile(tar, packed(t, c.files...), 0o666))
		zst := tar + ".zst"
		data := filetest.Pack(t, ".zst", packed(t, c.files...))
		must.OK(t, os.WriteFile(zst, data, 0o666))
		for _, path := range []string{dir, tar, zst} {
			kernel, modules, err := ReadSet(path)
			if err != nil {
				if got := err.Error(); !strings.HasPrefix(got, path) || !strings.Contains(got, c.want) ||
					c.want == "" {
					t.Errorf("%s: %v, want %s", c.name, err, c.want)
				}
				continue
			}
			var got []string
			for _, name := range slices.Sorted(maps.Keys(modules)) {
				n := 0
				for range modules[name].All() {
					n++
				}
				got = append(got, fmt.Sprint(name, " ", n))
			}
			if s := strings.Join(got, ", "); s != c.want || kernel == nil {
				t.Errorf("%s: %s, want %s", c.name, s, c.want)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "file.btf")
	must.OK(t, os.WriteFile(file, []byte(kernel), 0o666))
	for _, path := range []string{file, file + ".none", os.DevNull} {
		if kernel, _, err := ReadSet(path); kernel != nil || err != nil {
			t.Errorf("%s: %v %v", path, kernel, err)
		}
	}
}

func FuzzReadSet(f *testing.F) {
	kernel, module, _ := setFiles(f)
	f.Add(packed(f, "vmlinux", kernel, "ext4", module))
	f.Add(packed(f, "vmlinux.btf", kernel, "ext4.btf", module))
	f.Add(filetest.Pack(f, ".zst", packed(f, "vmlinux", kernel)))
	f.Add([]byte("x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "set.tar")
		must.OK(t, os.WriteFile(path, data, 0o666))
		if kernel, _, err := ReadSet(path); kernel == nil && err == nil {
			t.Error("no kernel and no error")
		}
	})
}
