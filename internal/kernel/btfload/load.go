// Package btfload loads BTF into the running kernel. Tests compare the kernel's verdict with that
// of package verify.
package btfload

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrUnavailable means that this process can't use the bpf system call, so there is no verdict.
var ErrUnavailable = errors.New("the kernel does not let this process load BTF")

// RefusedError means that the kernel rejects the BTF.
type RefusedError struct {
	Errno unix.Errno
	Log   string // the verifier's log, if the caller requested one
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the kernel rejects the BTF: %v\n%s", e.Errno, e.Log)
}

// Load loads BTF in native byte order, and unloads it immediately. logSize is the size of the log
// in bytes, or 0 for no log. The error is nil, is a *RefusedError, or wraps ErrUnavailable.
func Load(data []byte, logSize int) error {
	if len(data) == 0 {
		return &RefusedError{Errno: unix.EINVAL}
	}
	// union bpf_attr of BPF_BTF_LOAD, include/uapi/linux/bpf.h
	attr := struct {
		btf, logBuf             uint64
		size, logSize, logLevel uint32
	}{btf: addr(data), size: uint32(len(data))}
	var log []byte
	if logSize > 0 {
		log = make([]byte, logSize)
		attr.logBuf, attr.logSize, attr.logLevel = addr(log), uint32(logSize), 1
	}
	fd, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_BTF_LOAD, uintptr(unsafe.Pointer(&attr)),
		unsafe.Sizeof(attr))
	runtime.KeepAlive(data)
	runtime.KeepAlive(log)
	switch errno {
	case 0:
		return unix.Close(int(fd))
	case unix.EPERM, unix.ENOSYS, unix.EACCES:
		return fmt.Errorf("%w: %v", ErrUnavailable, errno)
	case unix.ENOSPC:
		if logSize > 0 { // the log was too long: retry without it
			return Load(data, 0)
		}
	}
	text, _, _ := bytes.Cut(log, []byte{0})
	return &RefusedError{errno, string(text)}
}

func addr(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&b[0]))) }
