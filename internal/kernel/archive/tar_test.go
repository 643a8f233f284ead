package archive

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// packed is filetest.Tar.
func packed(t testing.TB, list ...string) []byte { return []byte(filetest.Tar(t, list...)) }

// TestCheckTar: Check finds the same problems in a tar archive, compressed or not, as in a
// directory. The archives have various names, because Check recognizes them by their content.
func TestCheckTar(t *testing.T) {
	programtest.Need(t, "tar")
	for _, c := range damages {
		t.Run(c.what, func(t *testing.T) {
			dir := damagedDir(t, c)
			out := t.TempDir()
			list := must.Get(directory(dir).list())(t)
			for _, form := range []struct {
				name string
				args []string
			}{
				{"a.tar", []string{"."}}, // names begin with ./
				{"gnu", append([]string{"--format=gnu"}, list...)},
				{"posix.zst", append([]string{"--format=posix"}, list...)},
			} {
				path := filepath.Join(out, form.name)
				cmd := exec.Command("tar", append([]string{"cf", path, "-C", dir}, form.args...)...)
				if msg, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, msg)
				}
				if form.name == "posix.zst" {
					data := must.Get(os.ReadFile(path))(t)
					put(t, out, form.name, filetest.Pack(t, ".zst", data))
				}
				found := must.Get(Check(path, Options{Rules: bootRules, Jobs: 2}))(t)
				wantProblems(t, found, c.want)
			}
		})
	}
}

// TestTarErrors reads invalid tar archives.
func TestTarErrors(t *testing.T) {
	plain, compressed := tarOf(t, someRelease(t, t.TempDir()))
	t.Setenv("TMPDIR", t.TempDir())
	const empty = `{"version":1,"release":"7","files":[]}`
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"a.tar", nil, "manifest.json: the tar archive has no such file at its top level"},
		{"a.tar", make([]byte, 1024), "manifest.json: the tar archive has no such file at its " +
			"top level"},
		{"a.tar", []byte(empty), "tar archive at offset 0x26: unexpected EOF; is the file damaged?"},
		{"a.tar", bytes.Repeat([]byte("x"), 512), "tar archive at offset 0x200: archive/tar: invalid"},
		{"a.tar.zst", []byte(empty), "zstd fails after 0 bytes: invalid input: magic number mismatch"},
		{"a.tar.zst", compressed[:len(compressed)/2], "zstd fails after "},
		{"a.tar.zst", filetest.Pack(t, ".zst", plain[:540]), "tar archive at offset "},
		{"a", plain[:540], "tar archive at offset "},
		{"a", packed(t, "d/manifest.json", empty), "manifest.json: the tar archive has no such file"},
		{"a", packed(t, "manifest.json", "{}"), "manifest.json: not a manifest: it has no version"},
		{"a", packed(t, "manifest.json", "->x"), "manifest.json: not a regular file"},
		{"a", packed(t, "manifest.json", empty, "./manifest.json", empty),
			`the tar archive contains "manifest.json" twice`},
		{"a", packed(t, many(maxTarMembers+1)...), "the tar archive has more than 65536 files"},
	} {
		path := put(t, t.TempDir(), c.name, c.data)
		_, err := Check(path, Options{Rules: bootRules, Jobs: 1})
		if err == nil || !strings.HasPrefix(err.Error(), path+": "+c.want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s of %d bytes: %v\nwant %s", c.name, len(c.data), err, c.want)
		}
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left in the directory for temporary files: %v, %v", left, err)
	}
	// For other problems with files in the archive, Check returns lines instead of an error.
	path := put(t, t.TempDir(), "a",
		packed(t, "manifest.json", empty, "d/", "", "d/a", "a", "a\nb", "c"))
	found, err := Check(path, Options{Rules: bootRules, Jobs: 1})
	want := []string{"vmlinux: the manifest doesn't list this file, but all others need it",
		"d: the manifest doesn't list this file", "d/a: the manifest doesn't list this file",
		`a\nb: the manifest doesn't list this file`}
	if err != nil || !slices.Equal(found, want) {
		t.Errorf("%q, %v\nwant %q", found, err, want)
	}
}

// many returns the names and contents of n empty files, for packed.
func many(n int) []string {
	var list []string
	for i := range n {
		list = append(list, "d/"+string(rune('a'+i%26))+string(rune('a'+i/26%26))+
			string(rune('a'+i/26/26%26))+string(rune('a'+i/26/26/26)), "")
	}
	return list
}

// FuzzTar: no input makes openTar panic, and no file that it opens is larger than the uncompressed
// archive.
func FuzzTar(f *testing.F) {
	whole := packed(f, "manifest.json", `{"version":1,"files":[{"name":"vmlinux","size":3}]}`,
		"vmlinux", "BTF", "link", "->vmlinux", "dir/", "")
	f.Add(whole)
	f.Add(whole[:700])
	f.Add(filetest.Pack(f, ".zst", whole))
	f.Add([]byte(`{"version":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<20 {
			return
		}
		files, err := openTar(put(t, t.TempDir(), "input", data))
		if files == nil || err != nil {
			return
		}
		defer files.file.Close()
		info, err := files.file.Stat()
		must.OK(t, err)
		for _, name := range files.names {
			r, size, err := files.open(name)
			if err != nil {
				continue
			}
			got, err := io.ReadAll(r)
			if err != nil || int64(len(got)) != size || size > info.Size() {
				t.Errorf("%q: %d of %d bytes, %v", name, len(got), size, err)
			}
		}
	})
}
