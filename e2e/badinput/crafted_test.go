package badinput

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// A crafted input is built so that reading it could cost far more than its size suggests.
type crafted struct {
	name string
	// make writes the files to dir. It returns the command line that reads these files when it is run
	// in dir: a tool's name, a verb and arguments.
	make func(t *testing.T, dir string) []string
	// want is a part of the expected error message. It is "" if the files are valid.
	want string
}

// These limits hold for input of up to 1 MB. For larger input, they grow with the size of the
// input. The goal is two seconds, but shared processors, and virtual machines in which page faults
// are slow, take longer: 2.6 s were seen.
const (
	craftedTime   = 4 * time.Second // of processor time
	craftedMemory = 300 << 20       // bytes of peak resident memory
)

// allCrafted are the crafted inputs, grouped by what they attack.
var allCrafted = [][]crafted{dwzCrafted(), filesCrafted(), logsCrafted(),
	graphsCrafted()}

// TestCrafted measures the time and memory that each crafted input costs.
func TestCrafted(t *testing.T) {
	fmt.Println("| crafted input | bytes | processor time | memory | result |")
	for _, group := range allCrafted {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) { c.test(t) })
		}
	}
}

func (c crafted) test(t *testing.T) {
	dir := t.TempDir()
	args := c.make(t, dir)
	size := treeSize(t, dir)
	factor := max(1, size>>20)
	limit := cost{time.Duration(factor) * craftedTime, factor * craftedMemory}
	least := c.run(t, dir, args, size)
	for range 2 { // other work on the machine may have disturbed the run
		if least.within(limit) {
			break
		}
		again := c.run(t, dir, args, size)
		least = cost{min(least.time, again.time), min(least.memory, again.memory)}
	}
	if !least.within(limit) {
		t.Errorf("%v of processor time and %d MB for %d bytes, more than %v or %d MB", least.time,
			least.memory>>20, size, limit.time, limit.memory>>20)
	}
}

// cost is the time and memory that one run used.
type cost struct {
	time   time.Duration // of the processor
	memory int64         // bytes
}

func (c cost) within(limit cost) bool { return c.time <= limit.time && c.memory <= limit.memory }

// run runs the command and checks its exit code and its message.
func (c crafted) run(t *testing.T, dir string, args []string, size int64) cost {
	code, stderr, took := measure(t, dir, args)
	said := head(stderr)
	first, _, _ := strings.Cut(said, "\n")
	fmt.Printf("| %s | %d | %.2f s | %d MB | %s |\n", c.name, size,
		took.time.Seconds(), took.memory>>20, first)
	switch {
	case c.want == "" && code != 0:
		t.Errorf("exit %d: %s", code, said)
	case c.want != "" && (code != 1 || !strings.Contains(stderr, c.want)):
		t.Errorf("exit %d, %q: expected exit 1 and %q", code, said, c.want)
	}
	return took
}

// measure runs a command line, as crafted.make returns it, in dir. A program that runs for very
// long is killed; the exit code is then -1.
func measure(t *testing.T, dir string, args []string) (code int, stderr string, took cost) {
	t.Helper()
	cmd := exec.Command(harness.Tool(t, args[0]), args[1:]...)
	cmd.Dir = dir
	var said strings.Builder
	cmd.Stderr = &said
	must.OK(t, cmd.Start())
	kill := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	defer kill.Stop()
	err := cmd.Wait()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), said.String(),
		cost{cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
			cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10}
}

// treeSize returns the size of the files in dir.
func treeSize(t *testing.T, dir string) int64 {
	var size int64
	must.OK(t, filepath.WalkDir(dir, func(_ string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		size += info.Size()
		return err
	}))
	return size
}
