package main

import (
	"os"
	"runtime/debug"
)

// smallInput is the size of files whose conversion makes so little garbage that collecting it would
// be a good part of the work. Most object files are smaller.
const smallInput = 8 << 20

// relaxHeap lets the heap grow to some 30 MB before garbage is collected, if the input is small and
// the user has not said otherwise.
func relaxHeap(path string) {
	if info, err := os.Stat(path); err == nil && info.Size() < smallInput && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800)
	}
}
