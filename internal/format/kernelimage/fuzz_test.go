package kernelimage

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// FuzzUnpack unpacks any file, and looks for BTF in what comes out.
func FuzzUnpack(f *testing.F) {
	files, _ := filepath.Glob("testdata/flat.*")
	if len(files) == 0 {
		f.Fatal("no seeds")
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(zboot("zstd", data))
		f.Add(bzImage(withSize(data, 402)))
	}
	one, two := blob(f, binary.LittleEndian, 1), blob(f, binary.BigEndian, 2)
	f.Add(flat(string(one), "between", string(two)))
	const limit = 1 << 20
	large := gzipped(f, flat("\x7fELF", strings.Repeat("x", limit+1))) // more than the limit
	f.Add(large)
	f.Add(bzImage(withSize(large, limit)))
	f.Add(gzipped(f, gzipped(f, gzipped(f, gzipped(f, flat(string(one)))))))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := unpack("fuzz", data, limit)
		if err != nil {
			return
		}
		if len(c.Data) > max(limit, len(data)) {
			t.Errorf("%d bytes", len(c.Data))
		}
		if c.Form != Flat {
			return
		}
		found, err := FindBTF(c.Data)
		if err != nil || found == nil {
			return
		}
		if _, err := btf.Parse(found, nil); err != nil || !bytes.Contains(c.Data, found) {
			t.Errorf("found %q, which is not the BTF of the image (%v)", found, err)
		}
	})
}
