package pipeline

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

// heapFloor is how much the heap may hold before garbage is collected, in bytes. What a module
// needs is less than a tenth of it, and garbage in the next module.
const heapFloor = 64 << 20

// ballast is memory that is never touched: it takes no room, but the garbage collector counts it.
//
//lint:ignore U1000 the garbage collector is what reads it
var ballast []byte

// RaiseHeap lets the heap grow to heapFloor and as much again, unless the user says otherwise.
func RaiseHeap() {
	if os.Getenv("GOGC") == "" {
		ballast = make([]byte, heapFloor)
	}
}
