package main

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// member is a file or link in an archive.
type member struct {
	name, content, link string
	typ                 byte
}

// writeTar writes an archive, which is compressed if its name ends with .gz.
func writeTar(t *testing.T, path string, members ...member) {
	t.Helper()
	var plain bytes.Buffer
	w := tar.NewWriter(&plain)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Mode: 0o644, Size: int64(len(m.content)), Linkname: m.link,
			Typeflag: m.typ}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(m.content))
	}
	w.Close()
	data := plain.String()
	if strings.HasSuffix(path, ".gz") {
		data = gzipped(t, data)
	}
	if err := os.WriteFile(path, []byte(data), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestModuleArchive reads an archive as "make modules_install" writes it: with links to directories
// that don't exist, and compressed modules. The result is that of the files.
func TestModuleArchive(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	kos := compileModules(t, dir, 2)
	rawBTF(t, p("vmlinux.btf"), "s", 4)
	content := func(path string) string {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	const root = "lib/modules/7.2.0/"
	one, two := content(kos[0]), content(kos[1])
	writeTar(t, p("modules.tar.gz"),
		member{name: root, typ: tar.TypeDir},
		member{name: root + "build", link: "/nowhere", typ: tar.TypeSymlink},
		member{name: root + "source", link: "/nowhere", typ: tar.TypeSymlink},
		member{name: root + "modules.dep", content: "kernel/a/m-1.ko:\n"},
		member{name: root + "kernel/a/m-1.ko", content: one},
		member{name: root + "kernel/b/m-2.ko.gz", content: gzipped(t, two)})
	t.Setenv("TMPDIR", p("tmp"))
	os.Mkdir(p("tmp"), 0o777)
	modules := func(out string, args ...string) string {
		t.Helper()
		code, errs := runVerb(append([]string{"modules", "-q", "--base", p("vmlinux.btf"), "-o", p(out),
			"--embed", p(out + ".ko.d")}, args...)...)
		if left, _ := os.ReadDir(p("tmp")); len(left) != 0 {
			t.Errorf("%v: %v is left", args, left)
		}
		if code == 0 {
			return ""
		}
		if code != 1 {
			t.Errorf("%v: exit code %d", args, code)
		}
		return errs
	}
	if errs := modules("files", kos...) + modules("archive", p("modules.tar.gz")); errs != "" {
		t.Fatal(errs)
	}
	for _, names := range [][2]string{
		{"files/m-1.btf", "archive/m-1.btf"},
		{"files/m-2.btf", "archive/m-2.btf"},
		{"files.ko.d/m-1.ko", "archive.ko.d/" + root + "kernel/a/m-1.ko"},
		{"files.ko.d/m-2.ko", "archive.ko.d/" + root + "kernel/b/m-2.ko"},
	} {
		if content(p(names[0])) != content(p(names[1])) {
			t.Errorf("%s and %s differ", names[0], names[1])
		}
	}
	ko := member{name: "a.ko", content: one}
	for name, test := range map[string]struct {
		members []member
		want    string
	}{
		"empty.tar": {[]member{{name: "modules.dep"}}, ": there is no file *.ko in this directory"},
		"link.tar": {[]member{ko, {name: "b.ko", link: "a.ko", typ: tar.TypeLink}},
			": b.ko: not a regular file; unpack the archive, and pass the directory"},
		"out.tar": {[]member{ko, {name: "../b.ko"}},
			": the path \"../b.ko\" leads out of the package"},
		"damaged.tar": {[]member{ko, {name: "d/b.ko", content: "no ELF"}}, ": d/b.ko: "},
		"packed.tar":  {[]member{ko, {name: "b.ko.gz", content: gzipped(t, one)[:200]}}, ": b.ko.gz"},
		"twice.tar":   {[]member{ko, {name: "d/a.ko", content: one}}, "both are the module a"},
		"large.tar.gz": {[]member{{name: "a.ko", content: strings.Repeat("\x00", 40<<20)}},
			": more than "},
	} {
		writeTar(t, p(name), test.members...)
		errs := modules("bad", p(name))
		if !strings.Contains(errs, p(name)) || !strings.Contains(errs, test.want) ||
			strings.Contains(errs, p("tmp")) {
			t.Errorf("%s: %q, want %q", name, errs, test.want)
		}
	}
	if err := os.WriteFile(p("text.tar"), []byte("text"), 0o666); err != nil {
		t.Fatal(err)
	}
	if errs := modules("bad", p("text.tar")); !strings.Contains(errs, "neither a tar archive nor") {
		t.Errorf("text.tar: %q", errs)
	}
}

// TestFile copies a file out of a directory.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	os.MkdirAll(filepath.Join(dir, "tree/a"), 0o777)
	for _, name := range []string{"tree/a/file", "outside"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tree, out := filepath.Join(dir, "tree"), filepath.Join(dir, "out")
	for _, path := range []string{"none", "a", "", "../outside"} {
		code, errs := runVerb("file", "--path="+path, "-o", out, tree)
		_, err := os.Stat(out)
		if want := tree + " has no file "; code != 1 || err == nil || !strings.Contains(errs, want) {
			t.Errorf("%q: exit code %d: %s", path, code, errs)
		}
	}
	if code, errs := runVerb("file", "--path=a/file", "-o", out, tree); code != 0 {
		t.Fatal(errs)
	}
	if data, err := os.ReadFile(out); err != nil || string(data) != "tree/a/file" {
		t.Errorf("%q, %v", data, err)
	}
}
