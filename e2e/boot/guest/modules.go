package main

import (
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rules-btf/rules_btf/e2e/boot/wire"
)

func loadModule(l wire.Load) wire.Module {
	m := wire.Module{Load: l}
	f, err := os.Open(l.File)
	if err == nil {
		err = unix.FinitModule(int(f.Fd()), "", 0)
		f.Close()
	}
	if err != nil {
		m.Error = err.Error()
	}
	m.BTF, _ = digest(l.Name) // "" if the module was refused, because then there is no BTF
	if l.Remove && err == nil {
		if err := remove(l.Name); err != nil {
			m.Stuck = err.Error()
		}
	}
	return m
}

// remove removes a module. On a slow machine, the kernel itself may still use the module for some
// time after it was loaded; then, remove tries again for up to ten seconds.
func remove(name string) (err error) {
	for range 1000 {
		if err = unix.DeleteModule(name, 0); err != unix.EAGAIN {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

// digest returns the SHA-256 of the BTF that the kernel shows for a module or for vmlinux.
func digest(name string) (string, error) {
	b, err := os.ReadFile(filepath.Join("/sys/kernel/btf", name))
	if err != nil {
		return "", err
	}
	return wire.Digest(b), nil
}
