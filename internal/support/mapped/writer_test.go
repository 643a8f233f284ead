package mapped

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestWriter: a write that copies mapped bytes that are gone fails.
func TestWriter(t *testing.T) {
	path, data := mapFile(t, "in", 0, 40)
	defer Unmap(data)
	out := must.Get(os.Create(filepath.Join(t.TempDir(), "out")))(t)
	defer out.Close()
	if n, err := (Writer{out}).Write(data); n != len(data) || err != nil {
		t.Error(n, err)
	}
	page := os.Getpagesize()
	truncate(t, path, 3*page)
	if _, err := (Writer{out}).Write(data); !errors.Is(err, unix.EFAULT) {
		t.Error(err)
	}
	wantTruncated(t, path)
	if _, err := (Writer{out}).Write(data[:page]); err != nil {
		t.Error(err)
	}
	out.Close()
	if _, err := (Writer{out}).Write(data[:page]); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

// mapRandom makes a file of random bytes, and maps it starting at page from.
func mapRandom(t *testing.T, dir string, size, from int) (path string, data []byte) {
	t.Helper()
	content := make([]byte, size)
	r := rand.NewPCG(1, uint64(size))
	for i := range content {
		content[i] = byte(r.Uint64())
	}
	path = filepath.Join(dir, "in")
	must.OK(t, os.WriteFile(path, content, 0o666))
	file := must.Get(os.Open(path))(t)
	defer file.Close()
	info := must.Get(file.Stat())(t)
	at := from * os.Getpagesize()
	data = must.Get(Map(file, info, path, int64(at), size-at, unix.MAP_PRIVATE))(t)
	if !bytes.Equal(data, content[at:]) {
		t.Fatal("the mapping differs from the file")
	}
	return path, data
}

// TestCopyMapped writes parts of a mapped file and other bytes. Large parts of the mapping are
// copied from file to file, also to another file system; the bytes are the same as from memory.
func TestCopyMapped(t *testing.T) {
	dirs := []string{t.TempDir()}
	if dir, err := os.MkdirTemp("/dev/shm", "mapped"); err == nil { // maybe another file system
		defer os.RemoveAll(dir)
		dirs = append(dirs, dir)
	}
	_, data := mapRandom(t, dirs[0], 300_000, 2)
	defer Unmap(data)
	for _, dir := range dirs {
		path := filepath.Join(dir, "out")
		out := must.Get(os.Create(path))(t)
		defer out.Close()
		heap := bytes.Clone(data[:100_000])
		parts := [][]byte{[]byte("start"), data[:50_000], heap, data[4096:], data[7:100], nil,
			data[len(data)-minCopy:]}
		for i, part := range parts {
			if n, err := (Writer{out}).Write(part); n != len(part) || err != nil {
				t.Fatalf("part %d: %d, %v", i, n, err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, bytes.Join(parts, nil)) {
			t.Errorf("%s: wrong content (%v)", dir, err)
		}
		for want, part := range map[bool][]byte{true: data, false: heap} {
			if got, err := (Writer{out}).copyMapped(part); got != want || err != nil {
				t.Errorf("%s: copied: %v, want %v (%v)", dir, got, want, err)
			}
		}
	}
}

// TestCopyOfOther: bytes are written from memory if the mapped file has been replaced, or if the
// output is a pipe.
func TestCopyOfOther(t *testing.T) {
	dir := t.TempDir()
	path, data := mapRandom(t, dir, 40_000, 0)
	defer Unmap(data)
	r, w := must.Get2(os.Pipe())(t)
	defer r.Close()
	if n, err := (Writer{w}).Write(data); n != len(data) || err != nil {
		t.Error(n, err)
	}
	w.Close()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data) {
		t.Errorf("pipe: wrong content (%v)", err)
	}

	must.OK(t, os.WriteFile(path+"2", make([]byte, 40_000), 0o666))
	must.OK(t, os.Rename(path+"2", path))
	out := must.Get(os.Create(filepath.Join(dir, "out")))(t)
	defer out.Close()
	if n, err := (Writer{out}).Write(data); n != len(data) || err != nil {
		t.Error(n, err)
	}
	if got, err := os.ReadFile(out.Name()); err != nil || !bytes.Equal(got, data) {
		t.Errorf("replaced: wrong content (%v)", err)
	}
}

// TestCopyFails: a copy that fails or ends early leaves no bytes in the output.
func TestCopyFails(t *testing.T) {
	path, data := mapRandom(t, t.TempDir(), 100_000, 0)
	defer Unmap(data)
	out := must.Get(os.Create(path + "2"))(t)
	defer out.Close()
	out.Write([]byte("start"))
	truncate(t, path, 30_000)
	if copied, err := (Writer{out}).copyMapped(data); copied || err != nil {
		t.Error(copied, err)
	}
	if at, err := out.Seek(0, io.SeekCurrent); at != 5 || err != nil {
		t.Error(at, err)
	}
	readOnly := must.Get(os.Open(out.Name()))(t)
	defer readOnly.Close()
	if n, err := (Writer{readOnly}).Write(data[:20_000]); n != 0 || !errors.Is(err, unix.EBADF) {
		t.Error(n, err)
	}
}
