// Package twobuilds builds the same targets twice with Bazel, in different surroundings, to show
// which outputs depend on the surroundings. Different surroundings are necessary: for example, if
// an action writes the path of the workspace into its output, two builds in the same directory
// can't show that. All files of the builds are in one directory; Close removes it and ends the
// Bazel servers.
package twobuilds

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Options say what to build and where.
type Options struct {
	Bazel     string   // the path of the command, or its name on PATH; "" to look for one
	Workspace string   // the root of the workspace
	CopyRoot  string   // the directory to copy, with the workspace in it; "" for the workspace
	Scratch   string   // where to make the directory for all files; "" for the temporary directory
	Args      []string // flags and targets for "bazel build"
	Out       io.Writer
}

// Builds are the two builds.
type Builds struct {
	Logs [2]string // paths of the execution logs
	Root string    // what Copy copies

	opt     Options
	scratch string
	of      [2][]string // the values of surroundings
	mu      sync.Mutex  // held while a command runs, and forever after Close
	closing sync.Mutex  // held forever by the first call of Close
	context context.Context
	cancel  context.CancelFunc
}

// The surroundings are what a build can see but must not depend on. The directory is that of the
// workspace; the names of variables are in capital letters.
// Rule: btfrepro run: in what its two builds differ.
var surroundings = []string{"directory", "output base", "HOME", "USER", "LC_ALL", "TZ", "umask", "--jobs"}

const directory, outputBase, umask, jobs = 0, 1, 6, 7

// New makes the directory for all files of the builds. Close removes it.
func New(opt Options) (*Builds, error) {
	workspace, err := filepath.Abs(opt.Workspace)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(workspace); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc([]string{"MODULE.bazel", "REPO.bazel", "WORKSPACE", "WORKSPACE.bazel"},
		func(name string) bool { return exists(filepath.Join(workspace, name)) }) {
		return nil, fmt.Errorf("%s is not the root of a Bazel workspace: no such file as MODULE.bazel "+
			"or WORKSPACE is in it; specify that directory", workspace)
	}
	root, err := filepath.Abs(cmp.Or(opt.CopyRoot, workspace))
	if err != nil {
		return nil, err
	}
	below, err := filepath.Rel(root, workspace)
	if err != nil || !filepath.IsLocal(below) {
		return nil, fmt.Errorf("the workspace %s is not in %s, the directory to copy; specify a "+
			"--copy-root that contains it", workspace, root)
	}
	if opt.Bazel, err = findBazel(opt.Bazel, filepath.Join(workspace, "bazelw")); err != nil {
		return nil, err
	}
	scratch, err := filepath.Abs(cmp.Or(opt.Scratch, os.TempDir()))
	if err != nil {
		return nil, err
	}
	if inside, err := filepath.Rel(root, scratch); err == nil && filepath.IsLocal(inside) {
		return nil, fmt.Errorf("the directory for the builds, %s, is in %s, the directory to copy: "+
			"specify a different one with --scratch", scratch, root)
	}
	if scratch, err = os.MkdirTemp(scratch, "btfrepro"); err != nil {
		return nil, err
	}
	b := &Builds{Root: root, opt: opt, scratch: scratch}
	b.context, b.cancel = context.WithCancel(context.Background())
	home, other := os.Getenv("HOME"), filepath.Join(scratch, "home")
	if os.Symlink(home, other) != nil { // the same content, under a different path
		other = home
	}
	half := max(1, runtime.NumCPU()/2)
	b.of = [2][]string{
		{workspace, filepath.Join(scratch, "base"), home, cmp.Or(os.Getenv("USER"), "user"), "C", "UTC",
			"022", strconv.Itoa(2 * half)},
		{filepath.Join(b.copied(), below), filepath.Join(scratch, "b", "output_base"), other, "somebody",
			otherLocale(), "Pacific/Kiritimati", "077", strconv.Itoa(half)},
	}
	for i, name := range []string{"A.log", "B.log"} {
		b.Logs[i] = filepath.Join(scratch, name)
	}
	return b, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func findBazel(command, wrapper string) (string, error) {
	names := []string{"bazelisk", "bazel", wrapper}
	if command != "" {
		names = []string{command}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", fmt.Errorf("none of the commands %q was found: specify one in the variable BAZEL", names)
}

// otherLocale returns an installed locale with different rules from C's, or else C.UTF-8.
func otherLocale() string {
	out, _ := exec.Command("locale", "-a").Output()
	return cmp.Or(string(regexp.MustCompile(`(?mi)^\w+_\S*utf\S*$`).Find(out)), "C.UTF-8")
}

func (b *Builds) copied() string { return filepath.Join(b.scratch, "another", "directory") }

// Varied describes the differences between the surroundings of the two builds, in one line each.
func (b *Builds) Varied() (lines []string) {
	for i, name := range surroundings {
		if x, y := b.of[0][i], b.of[1][i]; x != y {
			lines = append(lines, fmt.Sprintf("%s: %s vs %s", name, x, y))
		}
	}
	return lines
}

// ExecRoot returns the execution root of a build that has ended, or "" if it has none.
func (b *Builds) ExecRoot(i int) string {
	found, _ := filepath.Glob(filepath.Join(b.of[i][outputBase], "execroot", "*", "bazel-out"))
	if len(found) == 0 {
		return ""
	}
	return filepath.Dir(found[0])
}

// patience is how long Bazel may take to end, once it has been interrupted.
const patience = 10 * time.Second

// shell runs a shell script with arguments in the surroundings of a build.
func (b *Builds) shell(ctx context.Context, i int, script string, args ...string) error {
	of := b.of[i]
	argv := append([]string{"-c", "umask " + of[umask] + " && " + script, "sh"}, args...)
	cmd := exec.CommandContext(ctx, "/bin/sh", argv...)
	cmd.Dir = of[directory]
	cmd.Env = append(os.Environ(), "LOGNAME="+of[3])
	for n, name := range surroundings[2:umask] {
		cmd.Env = append(cmd.Env, name+"="+of[2+n])
	}
	cmd.Stdout, cmd.Stderr = b.opt.Out, b.opt.Out
	// An interrupt from the terminal reaches only this process, which then ends Bazel.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = patience
	return cmd.Run()
}

func (b *Builds) bazel(ctx context.Context, i int, args ...string) error {
	argv := []string{b.opt.Bazel, "--output_user_root=" + filepath.Join(b.scratch, "user"),
		"--output_base=" + b.of[i][outputBase]}
	return b.shell(ctx, i, `exec "$@"`, slices.Concat(argv, args)...)
}

// Copy makes the copy of Root that the second build uses, without the links to Bazel's outputs
// (bazel-*). The files have the modes of a checkout with the second umask. All directories are
// writable, because Bazel creates files in them.
func (b *Builds) Copy() error {
	const script = `mkdir -p "$2" && cp -RP "$1/." "$2" && cd "$2" &&
find . -type d -exec chmod u+rwx {} + && find . -name "bazel-*" -type l -exec rm -f {} +`
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.shell(b.context, 0, "umask "+b.of[1][umask]+" && "+script, b.Root, b.copied()); err != nil {
		return fmt.Errorf("copying the workspace: %w", err)
	}
	return nil
}

// Build runs one of the builds, without a cache of results.
func (b *Builds) Build(i int) error {
	args := []string{"build", "--execution_log_compact_file=" + b.Logs[i], "--jobs=" + b.of[i][jobs],
		"--symlink_prefix=/", "--disk_cache=", "--noremote_accept_cached",
		"--noremote_upload_local_results"}
	// With the default cache of downloads, builds that have a different output root don't download
	// everything again.
	if cache, err := os.UserCacheDir(); err == nil {
		dir := filepath.Join(cache, "bazel", "_bazel_"+os.Getenv("USER"), "cache", "repos", "v1")
		if exists(dir) {
			args = append(args, "--repository_cache="+dir)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.bazel(b.context, i, slices.Concat(args, b.opt.Args)...); err != nil {
		return fmt.Errorf("bazel build: %w; see its output above", err)
	}
	// End the server: the other build needs memory, and files shouldn't change while they are read.
	if err := b.bazel(b.context, i, "shutdown"); err != nil {
		return fmt.Errorf("bazel shutdown: %w", err)
	}
	return nil
}

// Close ends a build that runs and the Bazel servers, and removes all files of the builds. Further
// calls of Close and of other methods that run commands don't return.
// Rule: btfrepro run: what happens after an interrupt.
func (b *Builds) Close() error {
	b.closing.Lock() // a call after an interrupt comes before that of the build that it ends
	b.cancel()
	b.mu.Lock()
	for i, of := range b.of {
		if exists(of[outputBase]) {
			b.bazel(context.Background(), i, "shutdown")
		}
	}
	// Some directories in the builds may be read-only.
	exec.Command("chmod", "-R", "u+rwx", b.scratch).Run()
	return os.RemoveAll(b.scratch)
}
