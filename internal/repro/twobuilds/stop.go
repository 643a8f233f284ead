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

type process struct {
	mu      sync.Mutex // held while the field running changes, and forever after Interrupt
	running *os.Process
	ended   chan struct{} // closed when that process has ended
}

// run runs a command. After a call of Interrupt, run doesn't return.
func (p *process) run(cmd *exec.Cmd) error {
	ended := make(chan struct{})
	p.mu.Lock()
	err := cmd.Start()
	p.running, p.ended = cmd.Process, ended
	p.mu.Unlock()
	if err != nil {
		return err
	}
	err = cmd.Wait()
	close(ended)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = nil
	return err
}

// patience is how long Bazel may take to end an interrupted build.
const patience = 10 * time.Second

// Interrupt ends the builds and removes everything that they made. The caller should then exit,
// because calls of Build and Close no longer return.
func (b *Builds) Interrupt() {
	p := &b.process
	p.mu.Lock()
	if p.running != nil {
		syscall.Kill(-p.running.Pid, syscall.SIGINT)
		select {
		case <-p.ended:
		case <-time.After(patience):
			syscall.Kill(-p.running.Pid, syscall.SIGKILL)
		}
	}
	b.remove()
}

// endServers ends the Bazel servers of both output bases, if they are running.
func (b *Builds) endServers() {
	for _, of := range b.Of {
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

// isServer reports whether a process is the Bazel server of an output base. If the server has
// ended, a different process may have its process id.
func isServer(pid int, outputBase string) bool {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return err == nil && strings.Contains(string(line), outputBase)
}

// removeAll removes a directory, including read-only directories in it.
func removeAll(dir string) error {
	var err error
	for range 20 { // a process that has just ended may have made another file
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
