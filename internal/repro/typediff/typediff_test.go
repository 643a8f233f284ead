package typediff

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/repro"
	"github.com/rules-btf/rules_btf/internal/repro/execlog/execlogtest"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

const bin = "bazel-out/k8-fastbuild/bin/"

// encode makes BTF with an int, and with a struct of the given size. If base isn't nil, the BTF is
// split BTF.
func encode(t *testing.T, base *btf.Blob, name string, size uint32) []byte {
	t.Helper()
	b := btf.NewBuilder(nil, base, nil)
	b.Int("int_of_"+name, 4, 0, 0)
	b.Composite(btf.KindStruct, name, size, false, btf.Member{NameOff: b.Name("m"), Type: 1})
	data := must.Get(btf.Encode(b.Finish(), btf.EncodeOptions{}))(t)
	return data
}

// builds makes two builds of vmlinux and of a module based on it. The size of the module's struct
// depends on the build. Each build has its files in its own directory.
func builds(t *testing.T, sizes [2]uint32) (list [2]Build) {
	t.Helper()
	for i, size := range sizes {
		l := execlogtest.New()
		dir := t.TempDir()
		put := func(name string, data []byte) uint32 {
			path := filepath.Join(dir, bin, name)
			must.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
			must.OK(t, os.WriteFile(path, data, 0o644))
			return l.File(bin+name, string(data))
		}
		kernel := encode(t, nil, "kernel", 4)
		base := must.Get(btf.Parse(kernel, nil))(t)
		vmlinux, index := put("vmlinux.btf", kernel), put("vmlinux.btfbase", []byte("index"))
		l.Spawn(execlogtest.Spawn{Label: "//:vmlinux", Mnemonic: "BtfLink"}, vmlinux)
		l.Spawn(execlogtest.Spawn{Label: "//:vmlinux", Mnemonic: "BtfBase",
			Inputs: l.Set(vmlinux)}, index)
		l.Spawn(execlogtest.Spawn{Label: "//:m", Mnemonic: "BtfLink", Inputs: l.Set(index)},
			put("m.btf", encode(t, base, "module", size)))
		list[i] = Build{l.Log(t), dir}
	}
	return list
}

// lines returns the lines about the one output that differs.
func lines(t *testing.T, list [2]Build) string {
	t.Helper()
	r := must.Get(repro.Compare(list[0].Log, list[1].Log, repro.Options{}))(t)
	Add(r, list[0], list[1])
	for i := range r.Actions {
		for _, o := range r.Actions[i].Outputs {
			return strings.Join(o.More, "\n")
		}
	}
	t.Fatal("no output differs")
	return ""
}

// TestSplit finds the types that differ in split BTF, whose base is found through the logs.
func TestSplit(t *testing.T) {
	list := builds(t, [2]uint32{4, 8})
	const want = "differs: struct module: size 4 vs 8"
	if got := lines(t, list); !strings.Contains(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	for i := range list {
		list[i].Dir = filepath.Join(list[i].Dir, "bazel-out")
	}
	if got := lines(t, list); !strings.Contains(got, want) {
		t.Errorf("with bazel-out: %s\nwant %s", got, want)
	}
}

// TestDirectory finds the types that differ in the files of a directory.
func TestDirectory(t *testing.T) {
	var list [2]Build
	for i, size := range []uint32{4, 8} {
		l := execlogtest.New()
		dir := t.TempDir()
		files := []string{"a.btf", string(encode(t, nil, "a", 4)),
			"b.btf", string(encode(t, nil, "b", size)), "notes", "of " + dir}
		for j := 0; j < len(files); j += 2 {
			path := filepath.Join(dir, bin, "d", files[j])
			must.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
			must.OK(t, os.WriteFile(path, []byte(files[j+1]), 0o644))
		}
		l.Spawn(execlogtest.Spawn{Label: "//:d", Mnemonic: "BtfModules"}, l.Directory(bin+"d", files...))
		list[i] = Build{l.Log(t), dir}
	}
	got := lines(t, list)
	_, types, _ := strings.Cut(got, "types of ")
	if !strings.HasPrefix(types, "b.btf: ") || strings.Contains(types, "types of") ||
		!strings.Contains(types, "differs: struct b: size 4 vs 8") {
		t.Errorf("%s", got)
	}
}

// TestNotCompared checks the reasons that are given if types can't be compared.
func TestNotCompared(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(dir string) error
		want   string
	}{
		{"no file", func(dir string) error { return os.Remove(filepath.Join(dir, bin, "m.btf")) },
			"no such file"},
		{"a different size", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, bin, "m.btf"), []byte("x"), 0o644)
		}, "m.btf has changed since the log was written"},
		{"different content", func(dir string) error {
			data, err := os.ReadFile(filepath.Join(dir, bin, "m.btf"))
			if err != nil {
				return err
			}
			data[len(data)-2]++
			return os.WriteFile(filepath.Join(dir, bin, "m.btf"), data, 0o644)
		}, "m.btf has changed since the log was written"},
		{"a different base", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, bin, "vmlinux.btf"), []byte("x"), 0o644)
		}, "its base: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := builds(t, [2]uint32{4, 8})
			must.OK(t, c.damage(list[1].Dir))
			got := lines(t, list)
			if !strings.HasPrefix(got, "types: not compared: ") || !strings.Contains(got, c.want) {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

// TestLimit checks that only maxFiles outputs are compared.
func TestLimit(t *testing.T) {
	var logs [2]Build
	for i := range logs {
		l := execlogtest.New()
		for n := range 2 * maxFiles {
			name := string(rune('a'+n)) + ".btf"
			l.Spawn(execlogtest.Spawn{Label: "//:" + name, Mnemonic: "M"},
				l.File(bin+name, string(rune('1'+i))))
		}
		logs[i] = Build{l.Log(t), t.TempDir()}
	}
	r := must.Get(repro.Compare(logs[0].Log, logs[1].Log, repro.Options{}))(t)
	Add(r, logs[0], logs[1])
	n := 0
	for i := range r.Actions {
		if len(r.Actions[i].Outputs[0].More) > 0 {
			n++
		}
	}
	if n != maxFiles {
		t.Errorf("%d outputs have lines, want %d", n, maxFiles)
	}
}
