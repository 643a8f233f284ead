package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// describe names the input, the versions and the machine.
func (b *bench) describe() error {
	info, err := os.Stat(b.vmlinux)
	if err != nil {
		return err
	}
	pahole, err := output("pahole", "--version")
	if err != nil {
		return err
	}
	ours, err := output(b.tool("btfgen"), "--version")
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "- input: %s (%d MB)\n", inputName(b.vmlinux), info.Size()>>20)
	for _, ko := range b.modules {
		info, err := os.Stat(ko)
		if err != nil {
			return err
		}
		fmt.Fprintf(b.out, "- module: %s (%d MB)\n", filepath.Base(ko), info.Size()>>20)
	}
	fmt.Fprintf(b.out, "- pahole %s; %s\n", pahole, ours)
	fmt.Fprintf(b.out, "- machine: %s\n", machine())
	return nil
}

// inputName is the kernel's release if the path has it, as in lib/modules/RELEASE/vmlinux, else the
// path.
func inputName(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	dir := filepath.Dir(path)
	if filepath.Base(filepath.Dir(dir)) == "modules" {
		return filepath.Base(path) + " of " + filepath.Base(dir)
	}
	return path
}

func output(argv ...string) (string, error) {
	b, err := exec.Command(argv[0], argv[1:]...).Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return strings.TrimSpace(string(b)), nil
}

// machine names the processor, its cores, the memory and the kernel, as far as /proc tells.
func machine() string {
	var parts []string
	if model := procField("/proc/cpuinfo", "model name"); model != "" {
		parts = append(parts, model)
	}
	if cpus, err := output("nproc"); err == nil {
		parts = append(parts, cpus+" cores")
	}
	if kb, err := strconv.Atoi(strings.TrimSuffix(procField("/proc/meminfo", "MemTotal"),
		" kB")); err == nil {
		parts = append(parts, fmt.Sprintf("%.0f GB", float64(kb)/(1<<20)))
	}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		parts = append(parts, "Linux "+strings.TrimSpace(string(b)))
	}
	return strings.Join(parts, ", ")
}

// procField returns the value of the first "name : value" line of a file.
func procField(path, name string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for _, line := range strings.Split(string(b), "\n") {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
