package report

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// peakMemory returns the peak resident memory of the process in bytes, including mapped pages of
// the input, or 0 if it isn't known.
func peakMemory() int64 {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(usage.Maxrss)
	}
	return int64(usage.Maxrss) * 1024
}
