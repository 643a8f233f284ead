package kernelimage

import (
	"fmt"
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Budget limits how many bytes an input may have when decompressed: the input itself, and the files
// in it with all their layers. Several threads may use it.
// Rule: compressed kernels and modules: how large all files may be.
type Budget struct {
	Limit int64 // bytes
	spent atomic.Int64
}

// Spend adds n bytes, and returns an error if there are now more than Limit. Whether the sum of
// several calls is an error doesn't depend on their order.
func (b *Budget) Spend(n int) error {
	if b.spent.Add(int64(n)) <= b.Limit {
		return nil
	}
	return message.Marked(fmt.Errorf("more than %d bytes when decompressed; if that is right, "+
		"decompress it first", b.Limit), message.ErrLimit)
}
