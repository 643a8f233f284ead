// Package btfload asks the running kernel to load a BTF blob. Tests compare its verdict with
// package verify.
package btfload

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrUnavailable means that the kernel did not judge the blob: no bpf system call, or not allowed.
var ErrUnavailable = errors.New("the kernel does not let this process load BTF")

// RefusedError is the kernel's refusal.
type RefusedError struct {
	Errno unix.Errno
	Log   string // the verifier's log, if asked for
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the kernel refuses the BTF: %v\n%s", e.Errno, e.Log)
}

// Load loads a blob of the machine's byte order, and unloads it at once. logSize is the size of the
// kernel's log in bytes, 0 for none. The error is nil, a *RefusedError, or wraps ErrUnavailable.
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
		if logSize > 0 { // the log was too long: ask again without
			return Load(data, 0)
		}
	}
	text, _, _ := bytes.Cut(log, []byte{0})
	return &RefusedError{errno, string(text)}
}

func addr(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&b[0]))) }
