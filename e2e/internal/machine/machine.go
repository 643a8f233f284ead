// Package machine boots kernels in QEMU, without hardware virtualization. In the virtual machine,
// the first process is the program e2e/boot/guest.
package machine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/e2e/boot/wire"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// A Machine is a virtual machine with two processors, and the kernel that it boots.
type Machine struct {
	qemu    []string // the beginning of the command line
	goarch  string
	console string // the kernel's name for the first serial port
	Report  string // the guest's device for the second serial port; the value for Plan.Report
	Kernel  string // the image to boot
}

// X86 returns an x86-64 machine that the program qemu emulates. The caller must set Kernel.
func X86(qemu string) Machine {
	return Machine{
		qemu:   []string{qemu, "-cpu", "max,la57=off"},
		goarch: "amd64", console: "ttyS0", Report: "/dev/ttyS1",
	}
}

// Arm64 is like X86, but for an arm64 machine.
func Arm64(qemu string) Machine {
	return Machine{
		qemu:   []string{qemu, "-machine", "virt", "-cpu", "cortex-a72"},
		goarch: "arm64", console: "ttyAMA0", Report: "/dev/ttyAMA1",
	}
}

// Boot adds the program guest to the directory image, boots the kernel with that directory as the
// root file system, and returns the guest's report. Other files are written to dir.
func (m Machine) Boot(tb testing.TB, dir, image string) []wire.Line {
	tb.Helper()
	harness.Need(tb, "cpio")
	harness.Command{
		Argv: []string{"go", "build", "-o", filepath.Join(image, "init"),
			"github.com/rules-btf/rules_btf/e2e/boot/guest"},
		Env: []string{"CGO_ENABLED=0", "GOARCH=" + m.goarch},
	}.Must(tb)
	initrd := filepath.Join(dir, "initrd")
	harness.MustRun(tb, image, "sh", "-c",
		`find . | LC_ALL=C sort | cpio --quiet -o -H newc >"$0"`, initrd)

	console, lines := filepath.Join(dir, "console"), filepath.Join(dir, "report")
	argv := append(m.qemu, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
		"-accel", "tcg,thread=multi", "-smp", "2", "-m", "1536",
		"-serial", "file:"+console, "-serial", "file:"+lines,
		"-kernel", m.Kernel, "-initrd", initrd,
		"-append", "console="+m.console+" loglevel=6 panic=-1 log_buf_len=4M")
	err := start(argv, console, time.Minute)
	if errors.Is(err, errSilent) { // QEMU rarely hangs at its start
		tb.Logf("QEMU: %v; one more try", err)
		err = start(argv, console, time.Minute)
	}
	if err != nil {
		tb.Fatalf("QEMU: %v\nconsole:\n%s", err, soFar(console))
	}
	return decode(tb, harness.ReadFile(tb, lines), harness.ReadFile(tb, console))
}

// errSilent is the error if the kernel writes nothing to its console for a while.
var errSilent = errors.New("no line on the console")

// start runs QEMU until it ends. If the file console is still empty after a time, the error is
// errSilent.
func start(argv []string, console string, silence time.Duration) error {
	if err := os.RemoveAll(console); err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	const limit = 20 * time.Minute // on an idle machine, one minute is enough
	defer time.AfterFunc(limit, func() { stop(fmt.Errorf("not finished after %v", limit)) }).Stop()
	defer time.AfterFunc(silence, func() {
		if len(soFar(console)) == 0 {
			stop(errSilent)
		}
	}).Stop()
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// soFar returns what QEMU has written to a file so far: nothing if there is no such file.
func soFar(file string) []byte {
	text, _ := os.ReadFile(file)
	return text
}

func decode(tb testing.TB, text, console []byte) []wire.Line {
	tb.Helper()
	var lines []wire.Line
	for line := range bytes.Lines(text) {
		var l wire.Line
		if err := json.Unmarshal(line, &l); err != nil {
			tb.Errorf("the guest reports %q: %v", line, err)
			continue
		}
		lines = append(lines, l)
	}
	if len(lines) == 0 || lines[len(lines)-1].End == nil {
		tb.Fatalf("the guest stopped after %d lines; its console:\n%s", len(lines), console)
	}
	return lines
}

var complaint = regexp.MustCompile(`(?i)\bbtf\b|\bbpf\b|resolve_btfids|kfunc`)

// Complaints returns the lines in the kernel's log that mention BTF. The kernel mentions BTF only
// if something is wrong with it.
func Complaints(log []string) []string {
	var found []string
	for _, line := range log {
		if complaint.MatchString(line) {
			found = append(found, line)
		}
	}
	return found
}
