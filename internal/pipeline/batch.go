package pipeline

import (
	"os"
	"sync"

	"github.com/rules-btf/rules_btf/internal/convert"
)

// Batch makes the BTF of many modules, several at the same time. Types that several modules have
// are read only once.
type Batch struct {
	shared convert.Shared
	large  sync.Mutex // makes the BTF of large modules
}

// largeFile is the minimum size, in bytes, of files that are converted one at a time: the relocated
// copy of such a file's DWARF takes most of the memory that a run needs. A kernel has a handful of
// such modules. Tests change it.
var largeFile int64 = 32 << 20

// Linked makes the BTF of one module like the function Linked, but only on the calling thread. The
// exception is a large module if the batch has more than two threads, because the large modules
// would otherwise take longer than all others together. How.Watch must be nil, because a Watcher is
// for one file.
func (b *Batch) Linked(path string, how How) (*Result, error) {
	info, err := os.Stat(path)
	large := err == nil && info.Size() >= largeFile
	if !large || how.Convert.Jobs <= 2 {
		how.Convert.Jobs, how.Convert.Shared = 1, &b.shared
	}
	if !large {
		return Linked(path, how)
	}
	b.large.Lock()
	defer b.large.Unlock()
	return Linked(path, how)
}
