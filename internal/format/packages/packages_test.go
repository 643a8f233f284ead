package packages

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cavaliergopher/cpio"
	"github.com/google/rpmpack"

	"github.com/rules-btf/rules_btf/internal/format/kernelimage"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

const (
	small = "usr/lib/modules/7.2.0/kernel/a.ko"
	holes = "usr/lib/modules/7.2.0/kernel/d.ko"
	large = "usr/lib/modules/7.2.0/kernel/fs/b.ko.xz"
	link  = "usr/lib/modules/7.2.0/kernel/fs/c.ko"
)

// contents are the files of the packages in these tests.
var contents = map[string]string{
	small: "small",
	large: strings.Repeat("a large file, ", 10_000),
	holes: "a" + strings.Repeat("\x00", 1<<16) + "b" + strings.Repeat("\x00", 1<<17),
}

const limit = 4 << 20

// list reads a package, and describes its files.
func list(data []byte, limit int64) (found []string, err error) {
	err = Each(data, &kernelimage.Budget{Limit: limit}, func(f File) error {
		switch {
		case f.Special:
			found = append(found, f.Name+" special")
			return nil
		case f.Hard:
			found = append(found, f.Name+" => "+f.Link)
			return nil
		case f.Link != "":
			found = append(found, f.Name+" -> "+f.Link)
			return nil
		}
		content, err := io.ReadAll(f.Reader)
		if err != nil {
			return err
		}
		if int64(len(content)) != f.Size {
			return fmt.Errorf("%s: %d bytes, want %d", f.Name, len(content), f.Size)
		}
		same := string(content) == contents[f.Name]
		found = append(found, fmt.Sprintf("%s %v", f.Name, same))
		return nil
	})
	slices.Sort(found)
	return found, err
}

var want = []string{small + " true", holes + " true", large + " true", link + " -> ../a.ko"}

// tree writes the files to a directory.
func tree(t *testing.T) programtest.Dir {
	d := programtest.NewDir(t)
	for name, content := range contents {
		d.Write("tree/"+name, content)
	}
	must.OK(t, os.Symlink("../a.ko", d.Path("tree/"+link)))
	return d
}

// TestForms reads packages that other programs wrote.
func TestForms(t *testing.T) {
	d := tree(t)
	d.Write("tree/DEBIAN/control", "Package: p\nVersion: 1\nArchitecture: all\n"+
		"Maintainer: m <m@example.com>\nDescription: d\n")
	for form, argv := range map[string][]string{
		"deb xz":         {"dpkg-deb", "-b", "-Zxz", "tree", "out"},
		"deb zstd":       {"dpkg-deb", "-b", "-Zzstd", "tree", "out"},
		"deb gzip":       {"dpkg-deb", "-b", "-Zgzip", "tree", "out"},
		"deb none":       {"dpkg-deb", "-b", "-Znone", "tree", "out"},
		"deb xz streams": {"dpkg-deb", "-b", "-Zxz", "-Sextreme", "tree", "out"},
		"tar":            {"tar", "-cf", "out", "-C", "tree", "usr"},
		"tar with ./":    {"tar", "-cf", "out", "-C", "tree", "./usr"},
		"tar of POSIX":   {"tar", "--format=posix", "-cf", "out", "-C", "tree", "usr"},
		"sparse tar":     {"tar", "--hole-detection=raw", "-cSf", "out", "-C", "tree", "usr"},
		"sparse tar 0.1": {"tar", "--hole-detection=raw", "--format=posix", "--sparse-version=0.1",
			"-cSf", "out", "-C", "tree", "usr"},
		"sparse tar 1.0": {"tar", "--hole-detection=raw", "--format=posix", "--sparse-version=1.0",
			"-cSf", "out", "-C", "tree", "usr"},
		"tar.xz":  {"tar", "-I", "xz", "-cf", "out", "-C", "tree", "usr"},
		"tar.zst": {"tar", "-I", "zstd", "-cf", "out", "-C", "tree", "usr"},
		"tar.gz":  {"tar", "-czf", "out", "-C", "tree", "usr"},
		"tar.bz2": {"tar", "-I", "bzip2", "-cf", "out", "-C", "tree", "usr"},
	} {
		t.Run(form, func(t *testing.T) {
			if argv[1] == "-I" {
				programtest.Need(t, argv[2])
			}
			programtest.Run(t, d.Path(""), argv[0], argv[1:]...)
			data := must.Get(os.ReadFile(d.Path("out")))(t)
			compare(t, data)
		})
	}
	for _, compressor := range []string{"gzip", "xz", "lzma", "zstd"} {
		t.Run("rpm "+compressor, func(t *testing.T) { compare(t, rpm(t, compressor)) })
	}
}

func compare(t *testing.T, data []byte) {
	t.Helper()
	if !Is(data) {
		t.Fatal("not recognised")
	}
	if found, err := list(data, limit); err != nil || !slices.Equal(found, want) {
		t.Errorf("%q, %v", found, err)
	}
	for n := 0; n < len(data); n += max(1, len(data)/60) {
		if !Is(data[:n]) {
			continue
		}
		// The end of a tar archive is only padding, which may be missing. It may also end between two
		// files.
		found, err := list(data[:n], limit)
		if err == nil && !slices.Equal(found, want) && !kernelimage.IsTar(data) {
			t.Errorf("the first %d of %d bytes: no error, %q", n, len(data), found)
		}
	}
	_, err := list(data, 1000)
	if err == nil || !strings.Contains(err.Error(), "more than 1000 bytes") {
		t.Errorf("with a limit: %v", err)
	}
}

// rpm makes an RPM package with rpmpack.
func rpm(t testing.TB, compressor string) []byte {
	t.Helper()
	r := must.Get(rpmpack.NewRPM(rpmpack.RPMMetaData{Name: "p", Version: "1", Release: "1",
		Arch: "noarch", Compressor: compressor}))(t)
	for name, content := range contents {
		r.AddFile(rpmpack.RPMFile{Name: "/" + name, Body: []byte(content), Mode: 0o644})
	}
	r.AddFile(rpmpack.RPMFile{Name: "/" + link, Body: []byte("../a.ko"), Mode: 0o120777})
	r.AddFile(rpmpack.RPMFile{Name: "/usr/lib/modules", Mode: 0o40755})
	var out bytes.Buffer
	must.OK(t, r.Write(&out))
	return out.Bytes()
}

// tarOf makes a tar archive with an empty file or link for each header.
func tarOf(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range headers {
		must.OK(t, w.WriteHeader(&h))
	}
	must.OK(t, w.Close())
	return out.Bytes()
}

// debOf makes a Debian package in which the tar archive is a member with a name.
func debOf(name string, content []byte) []byte {
	out := []byte(arMagic)
	for _, m := range []struct {
		name    string
		content []byte
	}{{debVersion, []byte("2.0\n")}, {name, content}} {
		out = append(out, fmt.Sprintf("%-16s%-12d%-6d%-6d%-8o%-10d`\n", m.name, 0, 0, 0, 0o644,
			len(m.content))...)
		out = append(out, m.content...)
		if len(m.content)%2 != 0 {
			out = append(out, '\n')
		}
	}
	return out
}

// rpmOf makes an RPM package from an uncompressed archive, with empty headers.
func rpmOf(archive []byte) []byte {
	header := binary.BigEndian.AppendUint64([]byte(headerMagic+"\x00\x00\x00\x00"), 0)
	out := append([]byte(rpmMagic), make([]byte, rpmLead-len(rpmMagic))...)
	return slices.Concat(out, header, header, archive)
}

// sparseTar makes a tar archive of a file that is a hole of size bytes (GNU tar's manual, "Storing
// Sparse Files", version 0.1).
func sparseTar(t testing.TB, size int64) []byte {
	t.Helper()
	records := ""
	for _, r := range []string{fmt.Sprintf("size=%d", size), "name=a.ko", "numblocks=1",
		fmt.Sprintf("map=%d,0", size)} {
		records += record("GNU.sparse." + r)
	}
	// Go's writer refuses these records, so the type of the header is changed (at offset 156), and
	// the sum of its bytes (at 148, in octal).
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := w.WriteHeader(&tar.Header{Name: "x", Typeflag: tar.TypeReg, Size: int64(len(records))})
	if err == nil {
		_, err = w.Write([]byte(records))
	}
	must.OK(t, errors.Join(err, w.Flush()))
	out := b.Bytes()
	sum, err := strconv.ParseInt(string(out[148:154]), 8, 64)
	must.OK(t, err)
	copy(out[148:], fmt.Sprintf("%06o", sum+'x'-tar.TypeReg))
	out[156] = 'x'
	return append(out, tarOf(t, tar.Header{Name: "a.ko", Typeflag: tar.TypeReg})...)
}

// record returns an extended header record of POSIX, which begins with its own length.
func record(text string) string {
	n := len(text) + len(" \n")
	for len(fmt.Sprint(n))+len(text)+len(" \n") != n {
		n++
	}
	return fmt.Sprintf("%d %s\n", n, text)
}

func cpioOf(t testing.TB, names ...string) []byte {
	t.Helper()
	var list []cpio.Header
	for _, name := range names {
		list = append(list, cpio.Header{Name: name, Mode: cpio.TypeReg | 0o644})
	}
	return cpioFiles(t, list...)
}

// cpioFiles makes a cpio archive in which each file has as many bytes as its header says.
func cpioFiles(t testing.TB, headers ...cpio.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := cpio.NewWriter(&out)
	for _, h := range headers {
		must.OK(t, w.WriteHeader(&h))
		must.Get(w.Write(make([]byte, h.Size)))(t)
	}
	must.OK(t, w.Close())
	return out.Bytes()
}

// TestHostile reads packages that no packager makes.
func TestHostile(t *testing.T) {
	reg := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg} }
	negative := cpioOf(t, "./a.ko")
	copy(negative[54:], "-0000001") // the size
	deb := debOf("data.tar", tarOf(t, reg("./a.ko")))
	huge := slices.Clone(deb)
	copy(huge[len(arMagic)+48:], "9999999999")
	longHeader := rpmOf(nil)
	binary.BigEndian.PutUint32(longHeader[rpmLead+8:], 1<<31)
	for _, c := range []struct {
		what string
		data []byte
		want string // the error, or the only file
	}{
		{"right deb", deb, "a.ko true"},
		{"right rpm", rpmOf(cpioOf(t, "./a.ko")), "a.ko true"},
		{"an absolute path", tarOf(t, reg("/a.ko")), `the path "/a.ko" leads out of the package`},
		{"a path that leads out", debOf("data.tar", tarOf(t, reg("./x/../../a.ko"))),
			`data.tar: the path "./x/../../a.ko" leads out`},
		{"right rpm, absolute", rpmOf(cpioOf(t, "/a.ko")), "a.ko true"},
		{"in an rpm", rpmOf(cpioOf(t, "../a.ko")), `the path "../a.ko" leads out`},
		{"a directory that leads out", tarOf(t, tar.Header{Name: "../", Typeflag: tar.TypeDir}),
			`the path "../" leads out`},
		{"a hard link", tarOf(t, tar.Header{Name: "a.ko", Linkname: "/etc/passwd",
			Typeflag: tar.TypeLink}), "a.ko => /etc/passwd"},
		{"a symbolic link", tarOf(t, tar.Header{Name: "a.ko", Linkname: "/etc/passwd",
			Typeflag: tar.TypeSymlink}), "a.ko -> /etc/passwd"},
		{"a device", tarOf(t, tar.Header{Name: "a.ko", Typeflag: tar.TypeChar}), "a.ko special"},
		{"a contiguous file", tarOf(t, tar.Header{Name: "a.ko", Typeflag: tar.TypeCont}), "a.ko true"},
		{"an unknown type", tarOf(t, tar.Header{Name: "a.ko", Typeflag: 'V'}), "a.ko special"},
		{"holes", sparseTar(t, 1<<40), "more than 4194304 bytes when decompressed"},
		{"a device in an rpm", rpmOf(cpioFiles(t, cpio.Header{Name: "a.ko", Mode: cpio.TypeChar})),
			"a.ko special"},
		{"a negative size", rpmOf(negative), "invalid cpio header"},
		{"a stripped archive", rpmOf([]byte(strippedMagic + "00000000")),
			"(stripped cpio) is not supported"},
		{"an unknown compression of an archive", rpmOf([]byte("LZIP\x01\x0cxxxxxxxx")),
			`compressed in an unknown way (it starts with "LZIP`},
		{"no archive", rpmOf(nil), "no files after the headers"},
		{"a header that is too long", longHeader, "has 34359738384 bytes, but only"},
		{"no files", debOf("control.tar", nil), "the package has no data.tar"},
		{"a member that is too long", huge, "has 9999999999 bytes, but only"},
		{"an unknown compression", debOf("data.tar.lzo", []byte("\x89LZO\x00\r\n\x1a\n")), "lzo"},
		{"damaged compression", debOf("data.tar.xz", []byte("\xfd7zXZ\x00xxxxxxxxxxxxxxxxxxxxx")),
			"data.tar.xz: "},
	} {
		found, err := list(c.data, limit)
		if err != nil {
			found = append(found, err.Error())
		}
		if len(found) != 1 || !strings.Contains(found[0], c.want) {
			t.Errorf("%s: %q\nwant %q", c.what, found, c.want)
		}
	}
}

// TestHardLinks reads an RPM package with files that have several names. The content comes with the
// last name, or with no name if the file is empty.
func TestHardLinks(t *testing.T) {
	file := func(name string, inode, size int64) cpio.Header {
		return cpio.Header{Name: name, Mode: cpio.TypeReg | 0o644, Links: 2, Inode: inode, Size: size}
	}
	found, err := list(rpmOf(cpioFiles(t, file("a.ko", 1, 0), file("b.ko", 2, 0), file("c", 1, 8),
		file("d.ko", 1, 0), file("e.ko", 2, 0))), limit)
	want := []string{"a.ko => c", "b.ko true", "c false", "d.ko => c", "e.ko true"}
	if err != nil || !slices.Equal(found, want) {
		t.Errorf("%q, %v\nwant %q", found, err, want)
	}
}

// TestStop checks that Each returns the error of its caller.
func TestStop(t *testing.T) {
	stop := errors.New("stop")
	file, budget := rpm(t, "zstd"), &kernelimage.Budget{Limit: limit}
	if err := Each(file, budget, func(File) error { return stop }); err != stop {
		t.Error(err)
	}
}

// FuzzEach reads any file as a package.
func FuzzEach(f *testing.F) {
	f.Add(rpmOf(cpioOf(f, "./a.ko", "./b")))
	f.Add(debOf("data.tar", tarOf(f, tar.Header{Name: "./a.ko", Typeflag: tar.TypeReg})))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !Is(data) {
			return
		}
		total := int64(0)
		_ = Each(data, &kernelimage.Budget{Limit: limit}, func(file File) error {
			n, err := io.Copy(io.Discard, file)
			if total += n; total > limit {
				t.Fatalf("%d bytes", total)
			}
			if strings.HasPrefix(file.Name, "/") || strings.HasPrefix(file.Name, "..") &&
				(len(file.Name) == 2 || file.Name[2] == '/') {
				t.Fatalf("the name %q", file.Name)
			}
			return err
		})
	})
}
