package base

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestSource makes the indices of two BTFs, and opens each index as the index of either BTF. One of
// the BTFs isn't laid out as btf.Encode would lay it out.
func TestSource(t *testing.T) {
	encode := func(prefix string) []byte {
		data := must.Get(btf.Encode(small(nil, binary.LittleEndian, prefix), btf.EncodeOptions{}))(t)
		return data
	}
	plain, longer := encode(""), encode("x_")
	longer = slices.Insert(longer, 24, make([]byte, 8)...) // a header of 32 bytes
	binary.LittleEndian.PutUint32(longer[4:], 32)

	dir := t.TempDir()
	sources := []*Source{NewSource(plain), NewSource(longer)}
	paths := []string{filepath.Join(dir, "plain"), filepath.Join(dir, "longer")}
	for i, s := range sources {
		data, made := must.Get2(s.Index(paths[i]))(t)
		must.OK(t, os.WriteFile(paths[i], data, 0o666))
		btfPath := paths[i] + ".btf"
		must.OK(t, os.WriteFile(btfPath, [][]byte{plain, longer}[i], 0o666))
		if want, err := Index(btfPath, nil); err != nil || !bytes.Equal(data, want) {
			t.Errorf("%s: error %v, or different from the result of Index", paths[i], err)
		}
		id, offset := made.Base.Ends()
		if made.Index != paths[i] || id != made.Last.StartID || offset != made.Last.BaseStrLen {
			t.Errorf("%s: %s, ids from %d on, strings from %d", paths[i], made.Index, id, offset)
		}
	}
	for i, s := range sources {
		for j, path := range paths {
			f, err := s.Open(path)
			if (err == nil) != (i == j) {
				t.Errorf("source %d: %s: %v", i, path, err)
			}
			if f != nil {
				f.Close()
			}
		}
		for _, path := range []string{paths[i] + ".btf", dir, dir + "/none"} {
			if _, err := s.Open(path); err == nil {
				t.Errorf("%s was taken for an index", path)
			}
		}
	}
	if _, _, err := NewSource(plain[:30]).Index("x"); err == nil {
		t.Error("truncated BTF gets an index")
	}
}
