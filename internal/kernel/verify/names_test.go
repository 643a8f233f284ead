package verify

import (
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestTails: the violations stay short if the names of many types end with the same long string.
func TestTails(t *testing.T) {
	const n = 12000
	long := strings.Repeat("x ", n)
	for _, kind := range []btf.Kind{btf.KindTypedef, btf.KindConst, btf.KindTypeTag} {
		b := btf.NewBuilder(nil, nil, nil)
		b.Int("int", 4, 0, 0)
		at := b.Name(long)
		for i := range uint32(n) {
			id := b.Ref(kind, "", 1)
			b.Blob.Types[id-1].NameOff = at + 2*i
		}
		data := must.Get(b.Encode(btf.EncodeOptions{}))(t)
		blob := must.Get(btf.Parse(data, nil))(t)
		size := 0
		found := Check(blob, Options{Sorted: true})
		for _, v := range found {
			size += len(v.String()) + len(v.Name)
		}
		if len(found) < MaxViolations || size > 3*btf.MaxNameLen*len(found) {
			t.Errorf("%v: %d violations of %d bytes", kind, len(found), size)
		}
		last := blob.TypeName(&blob.Types[len(blob.Types)-1])
		if last != long[2*(n-1):] {
			t.Errorf("%v: the last name is %.20q", kind, last)
		}
	}
}
