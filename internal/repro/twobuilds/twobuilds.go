// Package twobuilds builds the same targets twice with Bazel, in different surroundings, to show
// which outputs depend on the surroundings. Different surroundings are necessary: for example, if
// an action writes the path of the workspace into its output, two builds in the same directory
// can't show that. All files of the builds are in one directory; Close removes it and ends the
// Bazel servers.
package twobuilds

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// Options say what to build and where.
type Options struct {
	Bazel     string   // the path of the command, or its name on PATH; "" to look for one
	Workspace string   // a directory in the workspace
	CopyRoot  string   // the directory to copy, with the workspace in it; "" for the workspace
	Scratch   string   // where to make the directory for all files; "" for the temporary directory
	Tools     string   // a directory with btfgen and btfdedup; "" for the tools that Bazel chooses
	Startup   []string // flags for Bazel before the command
	Args      []string // flags and targets for "bazel build"
	Jobs      [2]int   // --jobs; 0 to choose
	Out       io.Writer
}

// Surroundings are what a build can see but must not depend on.
type Surroundings struct {
	Directory  string // of the workspace
	OutputBase string
	Home       string
	User       string
	Locale     string
	TimeZone   string
	Umask      string
	Jobs       int
}

// Builds are the two builds.
type Builds struct {
	opt     Options
	scratch string
	root    string // what is copied
	Of      [2]Surroundings
	Logs    [2]string // paths of the execution logs
	tools   []string  // flags for ready-made tools
	process process
}

// New makes the directory for all files of the builds. Close removes it.
func New(opt Options) (*Builds, error) {
	workspace, err := findWorkspace(opt.Workspace)
	if err != nil {
		return nil, err
	}
	root, err := filepath.Abs(cmp.Or(opt.CopyRoot, workspace))
	if err != nil {
		return nil, err
	}
	if opt.Bazel, err = findBazel(opt.Bazel, workspace, root); err != nil {
		return nil, err
	}
	below, err := filepath.Rel(root, workspace)
	if err != nil || below == ".." || strings.HasPrefix(below, "../") {
		return nil, fmt.Errorf("the workspace %s is not in %s, the directory to copy", workspace, root)
	}
	scratch, err := os.MkdirTemp(opt.Scratch, "btfrepro")
	if err != nil {
		return nil, err
	}
	if scratch, err = filepath.EvalSymlinks(scratch); err != nil {
		return nil, err
	}
	b := &Builds{opt: opt, scratch: scratch, root: root}
	b.choose(workspace, filepath.Join(b.copied(), below))
	if b.tools, err = b.toolFlags(); err != nil {
		removeAll(scratch)
		return nil, err
	}
	return b, nil
}

func (b *Builds) copied() string { return filepath.Join(b.scratch, "another", "directory") }

// Root returns the directory that Copy copies.
func (b *Builds) Root() string { return b.root }

// Copy makes the copy of the root that the second build uses.
func (b *Builds) Copy() error {
	umask, err := strconv.ParseUint(b.Of[1].Umask, 8, 9)
	if err != nil {
		return err
	}
	if err := copyTree(b.root, b.copied(), b.scratch, fs.FileMode(umask)); err != nil {
		return fmt.Errorf("copying the workspace: %w", err)
	}
	return nil
}

func (b *Builds) choose(workspace, copied string) {
	in := func(names ...string) string {
		return filepath.Join(append([]string{b.scratch}, names...)...)
	}
	home := os.Getenv("HOME")
	other := in("home")
	if home == "" || os.Symlink(home, other) != nil { // the same content, under a different path
		other = home
	}
	jobs := b.opt.Jobs
	for i := range jobs {
		if jobs[i] == 0 {
			jobs[i] = max(1, runtime.NumCPU()/(1+i))
		}
	}
	if jobs[0] == jobs[1] && b.opt.Jobs == [2]int{} {
		jobs[0]++
	}
	b.Of = [2]Surroundings{
		{workspace, in("base"), home, cmp.Or(os.Getenv("USER"), "user"), "C", "UTC", "022", jobs[0]},
		{copied, in("b", "output_base"), other, "somebody", otherLocale(), "Pacific/Kiritimati", "077",
			jobs[1]},
	}
	b.Logs = [2]string{in("A.log"), in("B.log")}
}

// otherLocale returns an installed locale with different rules from C's, or else C.UTF-8.
func otherLocale() string {
	out, _ := exec.Command("locale", "-a").Output()
	best := "C.UTF-8"
	for _, name := range strings.Fields(string(out)) {
		if strings.Contains(name, "_") && strings.Contains(strings.ToLower(name), "utf") {
			return name
		}
	}
	return best
}

// Varied describes the differences between the surroundings of the two builds, in one line each.
func (b *Builds) Varied() []string {
	var lines []string
	x, y := b.Of[0], b.Of[1]
	for _, v := range [][3]string{
		{"directory", x.Directory, y.Directory}, {"output base", x.OutputBase, y.OutputBase},
		{"HOME", x.Home, y.Home}, {"USER", x.User, y.User}, {"LC_ALL", x.Locale, y.Locale},
		{"TZ", x.TimeZone, y.TimeZone}, {"umask", x.Umask, y.Umask},
		{"--jobs", strconv.Itoa(x.Jobs), strconv.Itoa(y.Jobs)},
	} {
		if v[1] != v[2] {
			lines = append(lines, fmt.Sprintf("%s: %s vs %s", v[0], v[1], v[2]))
		}
	}
	return lines
}

// Close ends the servers and removes the directory. After Interrupt, Close doesn't return.
func (b *Builds) Close() error {
	b.process.mu.Lock()
	defer b.process.mu.Unlock()
	return b.remove()
}

func (b *Builds) remove() error {
	b.endServers()
	return removeAll(b.scratch)
}

// ExecRoot returns the execution root of a build that has ended, or "" if it has none.
func (b *Builds) ExecRoot(i int) string {
	found, _ := filepath.Glob(filepath.Join(b.Of[i].OutputBase, "execroot", "*", "bazel-out"))
	if len(found) == 0 {
		return ""
	}
	return filepath.Dir(found[0])
}

// findWorkspace returns the root of dir's workspace: dir itself or a directory above it.
func findWorkspace(dir string) (string, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(start); err != nil {
		return "", err
	}
	for d := start; ; d = filepath.Dir(d) {
		for _, name := range []string{"MODULE.bazel", "REPO.bazel", "WORKSPACE", "WORKSPACE.bazel"} {
			if info, err := os.Stat(filepath.Join(d, name)); err == nil && info.Mode().IsRegular() {
				return d, nil
			}
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("%s is not in a Bazel workspace: no such file as MODULE.bazel "+
				"or WORKSPACE is in this directory or in one above it", start)
		}
	}
}

// findBazel returns the path of the command. root is the directory to copy.
func findBazel(command, workspace, root string) (string, error) {
	names := []string{"bazelisk", "bazel", filepath.Join(workspace, "bazelw"),
		filepath.Join(root, "bazelw")}
	if command != "" {
		names = []string{command}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	if command != "" {
		return "", fmt.Errorf("the command %s was not found", command)
	}
	return "", fmt.Errorf("neither bazelisk nor bazel is on PATH, and there is no bazelw in %s: "+
		"specify one with --bazel", workspace)
}
