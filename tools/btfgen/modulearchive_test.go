package main

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// member is a file or link in an archive.
type member struct {
	name, content, link string
	typ                 byte
}

// writeTar writes an archive, which is compressed as its name says.
func writeTar(t *testing.T, path string, members ...member) {
	t.Helper()
	var plain bytes.Buffer
	w := tar.NewWriter(&plain)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Mode: 0o644, Size: int64(len(m.content)), Linkname: m.link,
			Typeflag: m.typ}
		must.OK(t, w.WriteHeader(h))
		w.Write([]byte(m.content))
	}
	w.Close()
	must.OK(t, os.WriteFile(path, []byte(filetest.Pack(t, path, plain.String())), 0o666))
}

// TestModuleArchive reads archives as "make modules_install" writes them: with links to directories
// that don't exist, and compressed modules. The result is that of the files.
func TestModuleArchive(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	content := func(path string) string {
		t.Helper()
		data := must.Get(os.ReadFile(path))(t)
		return string(data)
	}
	kos := programtest.Modules(t, dir, 2)
	one, two := content(kos[0]), content(kos[1])
	kernelBTF(t, p("vmlinux.btf"))
	modules := func(out string, args ...string) string {
		t.Helper()
		os.RemoveAll(p("out"))
		os.Mkdir(p("out"), 0o777)
		code, errs := runVerb(append([]string{"modules", "--base", p("vmlinux.btf"),
			"-o", p("out/" + out), "--skipped-dir", p("out/" + out + ".skipped")}, args...)...)
		left, _ := filepath.Glob(p("out/.*"))
		if code == 1 {
			left, _ = filepath.Glob(p("out/*"))
		}
		if len(left) != 0 || code > 1 || (code == 0) != (out != "bad") {
			t.Errorf("%v: exit code %d, %v is left: %s", args, code, left, errs)
		}
		if strings.Contains(errs, ".tmp") {
			t.Errorf("%v: a temporary name: %s", args, errs)
		}
		return errs
	}
	modules("files", kos...)
	const root = "lib/modules/7.2.0/"
	want := map[string]string{}
	for _, names := range [][2]string{
		{"files/m-1.btf", "archive/m-1.btf"},
		{"files/m-2.btf", "archive/m-2.btf"},
		{"files.skipped/m-1.skipped", "archive.skipped/m-1.skipped"},
	} {
		want[names[1]] = content(p("out/" + names[0]))
	}
	for archive, end := range map[string]string{".tar": "", ".tar.gz": ".gz", ".tgz": ".zst",
		".tar.xz": ".xz", ".tar.zst": ".zst"} {
		path := p("modules" + archive)
		writeTar(t, path,
			member{name: "./" + root, typ: tar.TypeDir},
			member{name: "./" + root + "build", link: "/nowhere", typ: tar.TypeSymlink},
			member{name: "./" + root + "source", link: "/nowhere", typ: tar.TypeSymlink},
			member{name: "./" + root + "modules.dep", content: "kernel/a/m-1.ko:\n"},
			member{name: "./" + root + "kernel/a/m-1.ko" + end, content: filetest.Pack(t, end, one)},
			member{name: "./" + root + "updates/m-2.ko", content: two})
		for _, jobs := range []string{"1", "4"} {
			modules("archive", "-j", jobs, path)
			for name, want := range want {
				if got := content(p("out/" + name)); got != want {
					t.Errorf("%s, -j %s: %s differs from that of the file", path, jobs, name)
				}
			}
		}
	}
	ko := member{name: "a.ko", content: one}
	zeros := strings.Repeat("\x00", 40<<20)
	for name, test := range map[string]struct {
		members []member
		want    string
	}{
		"none.tar": {[]member{{name: "modules.dep"}}, ": there is no file *.ko in this archive"},
		"link.tar": {[]member{ko, {name: "b.ko", link: "a.ko", typ: tar.TypeLink}},
			": b.ko: not a regular file; unpack the archive, and pass the directory"},
		"pipe.tar": {[]member{{name: "b.ko.xz", typ: tar.TypeFifo}}, ": b.ko.xz: not a regular file"},
		"out.tar": {[]member{ko, {name: "../b.ko"}},
			": the path \"../b.ko\" leads out of the package"},
		"absolute.tar": {[]member{{name: "/b.ko"}}, ": the path \"/b.ko\" leads out of the package"},
		"damaged.tar":  {[]member{{name: "d/b.ko", content: "no ELF"}}, ": d/b.ko: not an ELF file"},
		"packed.tar": {[]member{ko, {name: "b.ko.gz", content: filetest.Pack(t, ".gz", one)[:200]}},
			": b.ko.gz: truncated; make the archive again"},
		"same.tar":  {[]member{ko, ko}, ": a.ko: the archive has a.ko twice"},
		"again.tar": {[]member{ko, {name: "a.ko.gz"}}, ": a.ko.gz: the archive has a.ko twice"},
		"below.tar": {[]member{ko, {name: "a.ko/b.ko"}}, ": a.ko/b.ko: not a directory"},
		"twice.tar": {[]member{ko, {name: "d/a.ko", content: one}}, ": a.ko and " + p("twice.tar") +
			": d/a.ko: both are the module a; convert them to different directories"},
		"large.tar.gz": {[]member{{name: "a.ko", content: zeros}}, ": a.ko: more than 8388608 bytes " +
			"when decompressed; if that is right, decompress it first"},
		"inner.tar.gz": {[]member{{name: "a.ko.zst", content: filetest.Pack(t, ".zst", zeros)}},
			": a.ko.zst: more than 8388608 bytes when decompressed; if that is right, decompress it " +
				"first"},
		"text.deb": {nil, ": neither a tar archive nor a package of a distribution"},
	} {
		writeTar(t, p(name), test.members...)
		for _, jobs := range []string{"1", "4"} {
			want := "btfgen: " + p(name) + test.want
			if errs := modules("bad", "-j", jobs, p(name)); !strings.HasPrefix(errs, want) {
				t.Errorf("%s, -j %s: %q, want %q", name, jobs, errs, want)
			}
		}
	}
	for text, want := range map[string]string{"": "empty", "text": "neither a tar archive nor"} {
		must.OK(t, os.WriteFile(p("text.tar"), []byte(text), 0o666))
		if errs := modules("bad", p("text.tar")); !strings.Contains(errs, want) {
			t.Errorf("%q: %q", text, errs)
		}
	}
}
