package twobuilds

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// stopper ends what runs.
type stopper struct {
	b       *Builds
	mu      sync.Mutex
	running *os.Process
	ended   chan struct{} // closed when running has ended
	stopped bool
}

func newStopper(b *Builds) *stopper { return &stopper{b: b} }

// run runs a command. After Interrupt it doesn't return.
func (s *stopper) run(cmd *exec.Cmd) error {
	s.mu.Lock()
	if s.stopped {
		s.mu.Unlock()
		select {}
	}
	err := cmd.Start()
	ended := make(chan struct{})
	if err == nil {
		s.running, s.ended = cmd.Process, ended
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	err = cmd.Wait()
	close(ended)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = nil
	if s.stopped {
		s.mu.Unlock()
		select {}
	}
	return err
}

// patience is how long Bazel may take to end an interrupted build.
const patience = 10 * time.Second

// Interrupt ends the builds and removes all that they made. The process should end after it: the
// calls of Build and Close don't return any more.
func (b *Builds) Interrupt() {
	s := b.stop
	s.mu.Lock()
	s.stopped = true
	running, ended := s.running, s.ended
	s.mu.Unlock()
	if running != nil {
		syscall.Kill(-running.Pid, syscall.SIGINT)
		select {
		case <-ended:
		case <-time.After(patience):
			syscall.Kill(-running.Pid, syscall.SIGKILL)
		}
	}
	b.remove()
}

// servers ends the Bazel servers of both output bases, if they run.
func (s *stopper) servers() {
	for _, of := range s.b.Of {
		if of.OutputBase == "" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(of.OutputBase, "server", "server.pid.txt"))
		if err != nil {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil || pid <= 1 || !isServer(pid, of.OutputBase) {
			continue
		}
		syscall.Kill(pid, syscall.SIGTERM)
		for end := time.Now().Add(patience); time.Now().Before(end) && isServer(pid, of.OutputBase); {
			time.Sleep(50 * time.Millisecond)
		}
		if isServer(pid, of.OutputBase) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// isServer says whether a process is the Bazel server of an output base, and not another that has
// got its id.
func isServer(pid int, outputBase string) bool {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return err == nil && strings.Contains(string(line), outputBase)
}

// removeAll removes a directory, those in it included that may not be written.
func removeAll(dir string) error {
	var err error
	for range 20 { // what has just ended may have made another file
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				os.Chmod(path, 0o700)
			}
			return nil
		})
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}
