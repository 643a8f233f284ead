package main

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/rules-btf/rules_btf/e2e/boot/report"
)

func loadModule(l report.Load) report.Module {
	m := report.Module{Load: l}
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
		if err := unix.DeleteModule(l.Name, 0); err != nil {
			m.Stuck = err.Error()
		}
	}
	return m
}

// digest returns the SHA-256 of the BTF that the kernel shows for a module or for vmlinux.
func digest(name string) (string, error) {
	b, err := os.ReadFile(filepath.Join("/sys/kernel/btf", name))
	if err != nil {
		return "", err
	}
	return report.Digest(b), nil
}
