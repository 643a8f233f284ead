// Command guest is the first process of the virtual machines that the tests in e2e/boot,
// e2e/bpf/boot and e2e/matrix start. As /plan.json says, it loads modules, runs BPF programs and
// runs commands. It reports the results as lines of JSON on a serial port. At the end it reboots
// the machine, which makes QEMU exit (-no-reboot); power-off would need more support in the kernel.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/rules-btf/rules_btf/e2e/boot/wire"
)

func main() {
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "guest: runs only in the virtual machines of the tests")
		os.Exit(2)
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err) // to the console
	}
	unix.Sync()
	unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
}

func run() error {
	if err := mountAll(); err != nil {
		return err
	}
	plan, err := readPlan()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(plan.Report, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	say := func(l wire.Line) { fmt.Fprintln(out, l.Encode()) }
	log, err := openLog()
	if err != nil {
		return err
	}
	start, err := start()
	if err != nil {
		return err
	}
	say(wire.Line{Start: &start})
	booted := log.news()
	for _, l := range plan.Modules {
		m := loadModule(l)
		m.Log = log.news()
		say(wire.Line{Module: &m})
	}
	for _, c := range checks {
		if !slices.Contains(plan.Checks, c.name) {
			continue
		}
		done := c.run(plan.Programs)
		done.Log = log.news()
		say(wire.Line{Check: &done})
	}
	for _, c := range plan.Commands {
		done, err := runCommand(c, start.Release)
		if err != nil {
			return err
		}
		done.Log = log.news()
		say(wire.Line{Ran: &done})
	}
	say(wire.Line{End: &wire.End{Log: booted}})
	return out.Close()
}

func mountAll() error {
	for _, m := range []struct{ kind, dir string }{
		{"devtmpfs", "/dev"}, {"proc", "/proc"}, {"sysfs", "/sys"},
	} {
		if err := os.MkdirAll(m.dir, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, m.dir, m.kind, 0, ""); err != nil {
			return fmt.Errorf("mounting %s: %w", m.dir, err)
		}
	}
	return nil
}

func readPlan() (wire.Plan, error) {
	var plan wire.Plan
	b, err := os.ReadFile(wire.PlanFile)
	if err != nil {
		return plan, err
	}
	return plan, json.Unmarshal(b, &plan)
}

func start() (wire.Start, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return wire.Start{}, err
	}
	btf, err := digest("vmlinux")
	return wire.Start{Release: unix.ByteSliceToString(name.Release[:]), BTF: btf}, err
}
