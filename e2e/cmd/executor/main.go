// Executor runs a command while there is a remote executor: buildbox-casd, of which Bazel hears
// through the pass-through. It stores what it has in a directory that it removes at its end.
//
//	executor COMMAND [ARG]…
//
// {} in an argument is replaced by the executor's address, HOST:PORT. The programs buildbox-casd,
// buildbox-run-bubblewrap and bwrap must be there.
package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rules-btf/rules_btf/e2e/internal/passthrough"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "executor: usage: executor COMMAND [ARG]…")
		os.Exit(2)
	}
	err := run(os.Args[1:])
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		os.Exit(max(failed.ExitCode(), 1))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "executor:", err)
		os.Exit(1)
	}
}

// run runs a command beside an executor, and returns the command's error.
func run(argv []string) error {
	dir, err := os.MkdirTemp("", "executor")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	address, stop, err := startServer(dir)
	if err != nil {
		return err
	}
	defer stop()
	proxy, err := passthrough.Start(address, true)
	if err != nil {
		return err
	}
	defer proxy.Close()
	for i := range argv {
		argv[i] = strings.ReplaceAll(argv[i], "{}", proxy.Addr)
	}
	command := exec.Command(argv[0], argv[1:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	return command.Run()
}

// startServer starts buildbox-casd and waits until it listens.
func startServer(dir string) (address string, stop func(), err error) {
	runner, err := exec.LookPath("buildbox-run-bubblewrap")
	if err != nil {
		return "", nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	address = listener.Addr().String()
	listener.Close()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return "", nil, err
	}
	defer log.Close()
	server := exec.Command("buildbox-casd", "--bind", address, "--buildbox-run="+runner, "--jobs=2",
		"--reserved=1M", filepath.Join(dir, "store"))
	server.Stdout, server.Stderr = log, log
	server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := server.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		syscall.Kill(-server.Process.Pid, syscall.SIGKILL)
		server.Wait()
	}
	for range 200 {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return address, stop, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	stop()
	text, _ := os.ReadFile(log.Name())
	return "", nil, fmt.Errorf("buildbox-casd does not listen: %s", strings.TrimSpace(string(text)))
}
