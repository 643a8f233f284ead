// Package measure runs commands and measures their time and memory.
package measure

import (
	"os/exec"
	"syscall"
	"time"
)

// Run holds what one run of a command used.
type Run struct {
	Wall time.Duration
	CPU  time.Duration // user and system, all threads
	Peak int64         // largest resident set, in bytes
}

// Of runs cmd, and returns an error if the command fails.
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
