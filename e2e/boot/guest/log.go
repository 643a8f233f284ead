package main

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// A kernelLog reads the kernel's log from /dev/kmsg.
type kernelLog struct{ fd int }

func openLog() (kernelLog, error) {
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK, 0)
	return kernelLog{fd}, err
}

// news returns the lines that the kernel has logged since the last call of news.
func (l kernelLog) news() []string {
	var lines []string
	buf := make([]byte, 8192)
	for {
		n, err := unix.Read(l.fd, buf)
		switch {
		case errors.Is(err, unix.EPIPE): // the oldest records were overwritten
			lines = append(lines, "(lines lost)")
			continue
		case err != nil: // EAGAIN: no more
			return lines
		}
		// Each read returns a record: "priority,number,time,flags;text", then lines after a space.
		if _, text, ok := strings.Cut(string(buf[:n]), ";"); ok {
			text, _, _ = strings.Cut(text, "\n")
			lines = append(lines, text)
		}
	}
}
