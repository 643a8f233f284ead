package shipped

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// tarOf writes a tar archive, in which regular files have some content.
func tarOf(t testing.TB, d programtest.Dir, name string, members ...tar.Header) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := error(nil)
	for _, m := range members {
		content := []byte("no module")
		if m.Typeflag == tar.TypeReg || m.Typeflag == tar.TypeCont {
			m.Size = int64(len(content))
		}
		err = errors.Join(err, w.WriteHeader(&m))
		if m.Size > 0 {
			_, more := w.Write(content)
			err = errors.Join(err, more)
		}
	}
	must.OK(t, errors.Join(err, w.Close()))
	d.Write(name, b.String())
}

// TestMembers reads packages whose modules aren't stored as usual. None of them may be left out
// without a word.
func TestMembers(t *testing.T) {
	programtest.Need(t, "tar")
	d := programtest.NewDir(t)
	const dir = "lib/modules/7.2.1/kernel/"
	d.Write("k/vmlinuz", kernelOf(t, "7.2.1", 3))
	d.Write(dir+"wrong.ko", moduleOf(t, "7.2.1", 4)+strings.Repeat("\x00", 1<<16))
	const wrong = "wrong.ko 7.2.1 refused: the kernel rejects [4] TYPEDEF"
	tars := map[string]string{}
	for _, args := range []string{"-cf", "-cSf", "--format=posix -cSf",
		"--format=posix --sparse-version=0.0 -cSf", "--format=posix --sparse-version=0.1 -cSf"} {
		name := fmt.Sprintf("t%d.tar", len(tars))
		d.Run("tar", append(strings.Fields("--hole-detection=raw "+args), name, "lib")...)
		tars[name] = wrong
	}
	member := func(name string, kind byte, link string) tar.Header {
		return tar.Header{Name: name, Typeflag: kind, Linkname: link}
	}
	tarOf(t, d, "contiguous.tar", member("a.ko", tar.TypeCont, ""))
	tars["contiguous.tar"] = "a.ko 7.2.1 refused: neither a kernel"
	tarOf(t, d, "types.tar", member("a.ko", tar.TypeFifo, ""), member("b.ko.xz", tar.TypeChar, ""),
		member("c.ko", 'V', ""), member("d.ko", tar.TypeDir, ""))
	const odd = " 7.2.1 refused: neither a regular file nor a link"
	tars["types.tar"] = "a.ko" + odd + ", b.ko.xz" + odd + ", c.ko" + odd
	tarOf(t, d, "kernel.tar", member("vmlinuz", tar.TypeBlock, ""))
	tars["kernel.tar"] = "kernel.tar: vmlinuz: neither a regular file nor a link"
	tarOf(t, d, "hard.tar", member("x", tar.TypeReg, ""), member("a.ko", tar.TypeLink, "x"))
	tars["hard.tar"] = "hard.tar: a.ko: it is a hard link to x, which isn't read, because"
	tarOf(t, d, "debug.tar", member("usr/lib/debug/a.ko", tar.TypeReg, ""),
		member("a.ko", tar.TypeLink, "./usr/lib/debug/a.ko"))
	tars["debug.tar"] = "a.ko: it is a hard link to ./usr/lib/debug/a.ko, which isn't read"
	tarOf(t, d, "both.tar", member("a.ko", tar.TypeReg, ""), member("b.ko", tar.TypeLink, "a.ko"))
	tars["both.tar"] = "a.ko 7.2.1 refused: neither a kernel"
	for name, want := range tars {
		if got := judged([]string{d.Path("k"), d.Path(name)}, 2); !strings.Contains(got, want) {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
}

// TestBombs reads inputs that are small, but have very many bytes when all files in them are
// decompressed. The limit is for all files of an input together.
func TestBombs(t *testing.T) {
	programtest.Need(t, "tar", "zstd", "truncate")
	d := programtest.NewDir(t)
	d.Write("k/vmlinuz", kernelOf(t, "7.2.1", 3))
	d.Write("zeros", moduleOf(t, "7.2.1", 3)+strings.Repeat("\x00", 7<<20))
	d.Run("zstd", "-q", "zeros")
	bomb := must.Get(os.ReadFile(d.Path("zeros.zst")))(t)
	for i := range 30 {
		d.Write(fmt.Sprintf("bombs/%d.ko.zst", i), string(bomb))
	}
	d.Write("holes/other.ko", "x")
	d.Run("truncate", "-s", "900M", "holes/a.ko")
	d.Run("tar", "-cf", "bombs.tar", "bombs")
	d.Run("tar", "--format=posix", "-cSf", "holes.tar", "holes")
	for _, input := range []string{"bombs", "bombs.tar", "holes.tar"} {
		for _, jobs := range []int{1, 4} {
			want := d.Path(input) + ": more than 8388608 bytes when decompressed; if that is right, " +
				"decompress it first"
			if got := judged([]string{d.Path("k"), d.Path(input)}, jobs); got != want {
				t.Errorf("%s with %d threads: %s\nwant %s", input, jobs, got, want)
			}
		}
	}
	opts := Options{Jobs: 2, MaxDecompressed: 1 << 30}
	if found, err := Find([]string{d.Path("k"), d.Path("bombs.tar")}, opts); err != nil ||
		len(found.Modules) != 30 {
		t.Errorf("with a larger limit: %v", err)
	}
}
