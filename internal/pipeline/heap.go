package pipeline

import (
	"os"
	"runtime/debug"
)

// smallInput is the size, in bytes, below which garbage collection would take too much of the time.
const smallInput = 8 << 20

// RelaxHeap lets the heap grow to some 30 MB before garbage is collected, if the inputs are small
// and the user hasn't set GOGC.
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

// heapFloor is how much the heap may hold, in bytes, before garbage is collected: more than ten
// times what converting a module takes.
const heapFloor = 64 << 20

// ballast is memory that is never touched: it takes up no RAM, but the garbage collector counts it.
//
//lint:ignore U1000 only the garbage collector uses it
var ballast []byte

// RaiseHeap lets the heap, with the ballast, grow to twice heapFloor, unless the user has set GOGC.
func RaiseHeap() {
	if os.Getenv("GOGC") == "" {
		ballast = make([]byte, heapFloor)
	}
}
