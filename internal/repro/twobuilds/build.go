package twobuilds

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

func (b *Builds) command(i int, args ...string) *exec.Cmd {
	s := b.Of[i]
	argv := []string{"-c", `umask "$0" && exec "$@"`, s.Umask, b.opt.Bazel,
		"--output_user_root=" + filepath.Join(b.scratch, "user"), "--output_base=" + s.OutputBase}
	argv = append(append(argv, b.opt.Startup...), args...)
	cmd := exec.Command("/bin/sh", argv...)
	cmd.Dir = s.Directory
	cmd.Env = append(os.Environ(), "USER="+s.User, "LOGNAME="+s.User, "LC_ALL="+s.Locale,
		"TZ="+s.TimeZone)
	if s.Home != "" {
		cmd.Env = append(cmd.Env, "HOME="+s.Home)
	}
	cmd.Stdout, cmd.Stderr = b.opt.Out, b.opt.Out
	// An interrupt from the terminal reaches only this process, which then ends Bazel.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// Build runs one of the builds, without a cache of results. failed is set if Bazel reports that
// targets failed to build; Bazel writes a log even then.
func (b *Builds) Build(i int) (failed bool, err error) {
	args := []string{"build", "--execution_log_compact_file=" + b.Logs[i],
		"--jobs=" + strconv.Itoa(b.Of[i].Jobs), "--symlink_prefix=/", "--disk_cache=",
		"--noremote_accept_cached", "--noremote_upload_local_results"}
	if dir := repositoryCache(); dir != "" {
		args = append(args, "--repository_cache="+dir)
	}
	cmd := b.command(i, slices.Concat(args, b.tools, b.opt.Args)...)
	err = b.process.run(cmd)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		failed, err = true, nil
	}
	if err != nil {
		return false, fmt.Errorf("bazel build: %w; see its output above", err)
	}
	if _, err := os.Stat(b.Logs[i]); err != nil {
		return false, errors.New("bazel build failed before the first action; see its output above")
	}
	// End the server: the other build needs memory, and files shouldn't change while they are read.
	shutdown := b.command(i, "shutdown")
	shutdown.Stdout, shutdown.Stderr = nil, nil
	if err := b.process.run(shutdown); err != nil {
		return false, fmt.Errorf("bazel shutdown: %w", err)
	}
	return failed, nil
}

// repositoryCache returns the default path of Bazel's cache of downloads, or "" if there is none.
// With this cache, builds that have a different output root don't download everything again.
func repositoryCache() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	dir := filepath.Join(cache, "bazel", "_bazel_"+os.Getenv("USER"), "cache", "repos", "v1")
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}
