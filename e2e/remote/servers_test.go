package remote

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// server is a running server.
type server struct {
	t       testing.TB
	dir     string // the directory in which the server stores its files
	addr    string // the address on which the server itself listens
	listens string // the address that Bazel uses
	argv    []string
	cmd     *exec.Cmd
	log     string
}

// option returns the option that makes Bazel use the server as a cache.
func (s *server) option() string {
	if s.grpc() {
		return "--remote_cache=grpc://" + s.listens
	}
	return "--remote_cache=http://" + s.listens
}

func (s *server) grpc() bool { return strings.Contains(s.argv[0], "casd") }

// casd starts buildbox-casd with the command in docs/remote.md. It is a cache and an executor. It
// runs actions in bubblewrap, where an action sees only its inputs, /dev, /proc and /tmp.
func casd(t testing.TB) *server {
	t.Helper()
	harness.Need(t, "buildbox-casd", "buildbox-run-bubblewrap", "bwrap")
	s := newServer(t)
	words := line(t, "buildbox-casd ")
	for old, new := range map[string]string{"127.0.0.1:8980": s.addr, "DIRECTORY": s.dir} {
		i := slices.Index(words, old)
		if i < 0 {
			t.Fatalf("the command in docs/remote.md has no %s: %s", old, words)
		}
		words[i] = new
	}
	last := len(words) - 1
	s.argv = slices.Concat(words[:last], []string{"--jobs=2", "--reserved=1M"}, words[last:])
	s.begin()
	return s
}

// nginx starts nginx with the configuration in docs/remote.md.
func nginx(t testing.TB) *server {
	t.Helper()
	program := nginxProgram(t)
	s := newServer(t)
	work := filepath.Dir(s.log)
	text := block(t, "nginx")
	for old, new := range map[string]string{"/var/cache/bazel": s.dir, "8080": s.addr} {
		if !strings.Contains(text, old) {
			t.Fatalf("the configuration in docs/remote.md has no %q", old)
		}
		text = strings.ReplaceAll(text, old, new)
	}
	config := filepath.Join(work, "nginx.conf")
	harness.WriteFile(t, config, fmt.Sprintf(nginxConfig, work, text))
	s.argv = []string{program, "-p", work, "-e", "stderr", "-c", config}
	s.begin()
	return s
}

// nginxProgram returns the path of nginx. It skips the test if nginx wasn't fetched.
func nginxProgram(t testing.TB) string {
	t.Helper()
	if program := os.Getenv("NGINX"); program != "" {
		return program
	}
	t.Skip("SKIPPED: no nginx; e2e/remote/run fetches it")
	return ""
}

// nginxConfig takes the place of Debian's nginx.conf. It lets nginx run as a single process in the
// foreground, with its files in the test's directory.
const nginxConfig = `daemon off;
master_process off;
user root;
events {}
pid %[1]s/pid;
http {
access_log off;
proxy_temp_path %[1]s/proxy;
fastcgi_temp_path %[1]s/fastcgi;
uwsgi_temp_path %[1]s/uwsgi;
scgi_temp_path %[1]s/scgi;
%[2]s
}
`

func newServer(t testing.TB) *server {
	t.Helper()
	scratch := must.Get(os.MkdirTemp("", "server"))(t)
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	s := &server{t: t, dir: filepath.Join(scratch, "store"), log: filepath.Join(scratch, "log"),
		addr: listener.Addr().String()}
	listener.Close()
	must.OK(t, os.Mkdir(s.dir, 0o755))
	t.Cleanup(func() {
		s.kill()
		os.RemoveAll(scratch)
	})
	return s
}

// begin starts the server and waits until it listens.
func (s *server) begin() {
	s.t.Helper()
	log := must.Get(os.OpenFile(s.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644))(s.t)
	defer log.Close()
	s.cmd = exec.Command(s.argv[0], s.argv[1:]...)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	// The server gets its own process group, so that the method kill also ends the server's children.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	must.OK(s.t, s.cmd.Start())
	for i := 0; ; i++ {
		c, err := net.Dial("tcp", s.addr)
		if err == nil {
			c.Close()
			break
		}
		if i == 200 {
			text, _ := os.ReadFile(s.log)
			s.t.Fatalf("%s does not listen: %s", s.argv[0], tail(string(text)))
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.listens = s.addr
	if s.grpc() {
		s.listens = startProxy(s.t, s.addr)
	}
}

// kill kills the server and its child processes.
func (s *server) kill() {
	if s.cmd != nil && s.cmd.Process != nil {
		syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		s.cmd.Wait()
		s.cmd = nil
	}
}

func filesBelow(t testing.TB, dir string) []string {
	t.Helper()
	var files []string
	must.OK(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			files = append(files, path)
		}
		return err
	}))
	return files
}
