package encode

import (
	"os"
	"runtime/debug"
)

// smallInput is the size of inputs whose conversion makes so little garbage that collecting it
// would be a good part of the work. Most object files, and groups of them, are smaller.
const smallInput = 8 << 20

// RelaxHeap lets the heap grow to some 30 MB before garbage is collected, if the inputs are small
// and the user has not said otherwise.
func RelaxHeap(paths []string) {
	size := int64(0)
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return
		}
		size += info.Size()
	}
	if size < smallInput && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800)
	}
}
