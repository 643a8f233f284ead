package kernelimage

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// FuzzUnpack unpacks any file, and looks for BTF in what comes out.
func FuzzUnpack(f *testing.F) {
	for _, data := range programtest.Seeds(f, "testdata/flat.*") {
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
