package main

import (
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"

	"github.com/rules-btf/rules_btf/e2e/boot/wire"
)

// runCommand runs a command. It returns an error if the machine can't be prepared for the command.
// If the command itself fails, the error is in done.Error.
func runCommand(c wire.Command, release string) (done wire.Ran, err error) {
	if c.HideBTF {
		if err := hideBTF(); err != nil {
			return done, fmt.Errorf("hiding /sys/kernel/btf: %w", err)
		}
		defer unix.Unmount("/sys/kernel/btf", 0)
	}
	if err := os.MkdirAll("/boot", 0o755); err != nil {
		return done, err
	}
	// libbpf reads the kernel's configuration for programs with CONFIG_ values.
	if err := os.WriteFile("/boot/config-"+release, nil, 0o644); err != nil {
		return done, err
	}
	if c.Vmlinux != "" {
		link := "/boot/vmlinux-" + release
		if err := os.Symlink(c.Vmlinux, link); err != nil {
			return done, err
		}
		defer os.Remove(link)
	}
	out, err := exec.Command(c.Argv[0], c.Argv[1:]...).CombinedOutput()
	done.Output = string(out)
	if err != nil {
		done.Error = err.Error()
	}
	return done, nil
}

// hideBTF mounts an empty directory over /sys/kernel/btf. The hidden files can still be read in the
// directory wire.HiddenBTF.
func hideBTF() error {
	const shown = "/sys/kernel/btf"
	if _, err := os.Stat(wire.HiddenBTF); err != nil {
		if err := os.Mkdir(wire.HiddenBTF, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(shown, wire.HiddenBTF, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	return unix.Mount("tmpfs", shown, "tmpfs", 0, "")
}
