// Package measure runs commands and measures their time and memory.
package measure

import (
	"os/exec"
	"syscall"
	"time"
)

// Run holds the time and memory that one run of a command used.
type Run struct {
	Wall time.Duration
	CPU  time.Duration // user and system time of all threads
	Peak int64         // peak resident memory, in bytes
}

// Of runs cmd and measures this run. It returns an error if the command fails.
func Of(cmd *exec.Cmd) (Run, error) {
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return Run{}, err
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return Run{
		Wall: time.Since(start),
		CPU:  cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
		Peak: usage.Maxrss * 1024,
	}, nil
}
