package pipeline

import (
	"os"
	"sync"

	"github.com/rules-btf/rules_btf/internal/convert"
)

// Batch makes the BTF of many modules, several at the same time. What they have in common is read
// once.
type Batch struct {
	shared convert.Shared
	large  sync.Mutex // held while a large module is made
}

// largeFile is the size, in bytes, of files that are converted one at a time: the relocated copy of
// such a file's DWARF is most of the memory that a run needs. A kernel has a handful of such
// modules.
const largeFile = 32 << 20

// Linked is Linked for one of the modules, on the calling thread alone. How.Watch must be nil,
// because a Watcher is for one file.
func (b *Batch) Linked(path string, how How) (*Result, error) {
	how.Convert.Jobs, how.Convert.Shared = 1, &b.shared
	how.Convert.Counts = new(convert.Counts)
	if info, err := os.Stat(path); err == nil && info.Size() >= largeFile {
		b.large.Lock()
		defer b.large.Unlock()
	}
	return Linked(path, how)
}
