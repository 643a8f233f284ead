// Command guest is the first process of the virtual machine that the test of package boot starts.
// It loads modules and programs of BPF as /plan.json says, reports lines of JSON to the second
// serial port, and switches the machine off.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/rules-btf/rules_btf/e2e/boot/report"
)

func main() {
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "guest: this is for the virtual machine of e2e/boot")
		os.Exit(2)
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err) // to the console
	}
	unix.Sync()
	unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

func run() error {
	if err := mountAll(); err != nil {
		return err
	}
	out, err := os.OpenFile("/dev/ttyS1", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	say := func(l report.Line) { fmt.Fprintln(out, l.Encode()) }
	plan, err := readPlan()
	if err != nil {
		return err
	}
	log, err := openLog()
	if err != nil {
		return err
	}
	start, err := start()
	if err != nil {
		return err
	}
	say(report.Line{Start: &start})
	booted := log.news()
	for _, l := range plan.Modules {
		m := loadModule(l)
		m.Log = log.news()
		say(report.Line{Module: &m})
	}
	for _, c := range checks {
		done := c.run(plan.Programs)
		done.Log = log.news()
		say(report.Line{Check: &done})
	}
	say(report.Line{End: &report.End{Log: booted}})
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

func readPlan() (report.Plan, error) {
	var plan report.Plan
	b, err := os.ReadFile(report.PlanFile)
	if err != nil {
		return plan, err
	}
	return plan, json.Unmarshal(b, &plan)
}

func start() (report.Start, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return report.Start{}, err
	}
	btf, err := digest("vmlinux")
	return report.Start{Release: unix.ByteSliceToString(name.Release[:]), BTF: btf}, err
}
