package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// oneVerb returns a program with one verb, which has the common flags in the set takes. The
// function define adds more flags, and returns the function that the verb runs.
func oneVerb(use string, takes Common, define func(*FlagSet) Run) func() *cobra.Command {
	return func() *cobra.Command {
		f := NewFlags(&cobra.Command{Use: use}, takes)
		return NewProgram("prog", "", f.Command(define(f)))
	}
}

// call runs a program with the arguments in words, and returns the exit code and the text on
// standard error.
func call(program func() *cobra.Command, words string) (int, string) {
	var stderr bytes.Buffer
	code := Execute(program, strings.Fields(words), nil, new(bytes.Buffer), &stderr)
	return code, stderr.String()
}

// runCopier runs a command that takes all common flags and some others that name files. The
// command calls run. runCopier returns the exit code and the text on standard error.
func runCopier(run Run, args ...string) (int, string) {
	var stderr bytes.Buffer
	p := oneVerb("copy A B", Output|Base|Features|Skipped|DistilledBase|Report, func(fs *FlagSet) Run {
		fs.InputVar(new(string), "also-read", "")
		fs.OutputVar(new(string), "also-write", "")
		fs.OutputDirVarP(new(string), "directory", "", "")
		return run
	})
	code := Execute(p, append([]string{"copy"}, args...), nil, new(bytes.Buffer), &stderr)
	return code, stderr.String()
}

func TestCommonFlags(t *testing.T) {
	var got Flags
	code, stderr := runCopier(func(env *Env, args []string) error {
		if got = env.Flags; env.Verb != "copy" || strings.Join(args, " ") != "a b" {
			t.Errorf("verb %s, arguments %q", env.Verb, args)
		}
		return nil
	}, "-oout", "a", "--base=x", "--base", "y", "--features=-float", "--skipped", "list", "-j7", "b",
		"--distilled_base=small", "-v") // underscores are dashes
	want := Flags{Output: "out", Bases: []string{"x", "y"}, Jobs: 7, Skipped: "list",
		Features: features.Default().Without(features.Float), DistilledBase: "small", Verbose: true}
	if code != 0 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("exit code %d: %s\n%+v, want\n%+v", code, stderr, got, want)
	}
}

// TestEmptyNames passes empty names to flags, as a shell does for an unset variable.
func TestEmptyNames(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--also-read= -o out", `"" for "--also-read" flag: specify a file`},
		{"--also-write= -o out", `"" for "--also-write" flag: specify a file`},
		{"--directory= -o out", `"" for "--directory" flag: specify a file`},
		{"--skipped= -o out", `"" for "--skipped" flag: specify a file`},
		{"--base= -o out", "--base is empty; specify a file"},
		{"--base x --base= -o out", "--base is empty; specify a file"},
		{"--output=", `"" for "-o, --output" flag: specify a file`},
		{"-o out", ""},
	} {
		ran := false
		code, stderr := runCopier(func(*Env, []string) error { ran = true; return nil },
			append(strings.Fields(c.args), "a", "b")...)
		if !strings.Contains(stderr, c.want) || (code == 2) != (c.want != "") || ran != (c.want == "") {
			t.Errorf("%s: exit code %d, %s; want %s", c.args, code, stderr, c.want)
		}
	}
	printer := oneVerb("print", Printed, func(*FlagSet) Run {
		return func(*Env, []string) error { t.Error("-o=: the command ran"); return nil }
	})
	if code, _ := call(printer, "print --output="); code != 2 {
		t.Errorf("-o= where the default is standard output: exit code %d", code)
	}
}

// TestGivenTwice: a flag for one file refuses a second name, but other flags may be repeated.
func TestGivenTwice(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-o x -o y", `"y" for "-o, --output" flag: the flag is already set to x; specify only one file`},
		{"-ox --output=x", "already set to x"},
		{"-o x --skipped=y --skipped z", "already set to y"},
		{"-o x --also_read y --also-read z", "already set to y"},
		{"-o x --directory y --directory z", "already set to y"},
		{"-o x --base y --base y -j1 -j2 --features=var --features=float", ""},
	} {
		code, stderr := runCopier(func(*Env, []string) error { return nil },
			append(strings.Fields(c.args), "a", "b")...)
		if !strings.Contains(stderr, c.want) || (code == 2) != (c.want != "") {
			t.Errorf("%s: exit code %d, %s; want %s", c.args, code, stderr, c.want)
		}
	}
}

// TestMissingDirs: a missing directory causes a warning if a flag names it, but not if it is the
// default.
func TestMissingDirs(t *testing.T) {
	t.Chdir(t.TempDir())
	must.OK(t, os.Mkdir("here", 0o777))
	const warning = "prog: warning: --debug-dir nope: no such directory\n"
	for args, want := range map[string]string{
		"": "", "--debug-dir here": "", "--debug-dir=": "", "--debug-dir here --debug-dir nope": warning,
		"-q --debug-dir nope -o out": "",
	} {
		p := oneVerb("find", Report|Printed, func(fs *FlagSet) Run {
			fs.DirsVar(new([]string), "debug-dir", "")
			return func(*Env, []string) error { return nil }
		})
		if code, stderr := call(p, "find "+args); code != 0 || stderr != want {
			t.Errorf("%s: exit code %d, %q; want %q", args, code, stderr, want)
		}
	}
}

// TestDebugFileFlag: --debug-file may be empty, and excludes directories to search.
func TestDebugFileFlag(t *testing.T) {
	for args, want := range map[string]string{
		"":                               "[] false",
		"--debug-file=":                  `[""] true`,
		"--debug-file= --debug-file x":   `["" "x"] true`,
		"--debug-file x -o ./x":          "output ./x is also an input (x)",
		"--debug-file x --debug-dir=d":   "--debug-file and --debug-dir can't be used together",
		"--debug-file= --debug-dir d -q": "--debug-file and --debug-dir can't be used together",
	} {
		var files, dirs []string
		got := ""
		code, stderr := call(oneVerb("find", Report|Printed, func(fs *FlagSet) Run {
			fs.DirsVar(&dirs, "debug-dir", "")
			fs.DebugFilesVar(&files)
			return func(*Env, []string) error {
				got = fmt.Sprintf("%q %t", files, files != nil)
				return nil
			}
		}), "find "+args)
		if code == 2 {
			got = stderr
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: exit code %d, %s; want %s", args, code, got, want)
		}
	}
}

// TestJobsLimitTheRuntime: -j can lower the number of threads that run at the same time, but can't
// raise it.
func TestJobsLimitTheRuntime(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, c := range []struct {
		flag          string
		jobs, threads int
	}{{"-v", 4, 4}, {"-j1", 1, 1}, {"--jobs=3", 3, 3}, {"-j4", 4, 4}, {"-j1024", 1024, 4}} {
		var jobs, threads int
		runCopier(func(env *Env, _ []string) error {
			jobs, threads = env.Jobs, runtime.GOMAXPROCS(0)
			return nil
		}, "-oout", c.flag, "a", "b")
		if jobs != c.jobs || threads != c.threads {
			t.Errorf("%s: %d jobs on %d threads, want %d on %d", c.flag, jobs, threads, c.jobs, c.threads)
		}
		if after := runtime.GOMAXPROCS(0); after != 4 {
			t.Fatalf("%s: %d threads are left", c.flag, after)
		}
	}
}

// TestOutputsAndInputs: an output must not be another output or an input, even by a different path.
func TestOutputsAndInputs(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"in", "old"} {
		must.OK(t, os.WriteFile(p(name), nil, 0o644))
		must.OK(t, os.Symlink(name, p(name+".link")))
	}
	for _, c := range []struct{ args, want string }{
		{"-o OUT", ""},
		{"-o OUT --skipped old --also-write new", ""},
		{"-o /dev/null --skipped /dev/null --base /dev/null", ""},
		{"-o OUT --directory other", ""},
		{"", `required flag(s) "output" not set`},
		{"-o in", "output in is also an input (in); write to another file"},
		{"-o in.link", "output in.link is also an input (in)"},
		{"-o ./in", "output ./in is also an input (in)"},
		{"-o OUT --skipped in", "output in is also an input"},
		{"-o OUT --base x --skipped x", "output x is also an input"},
		{"-o OUT --also-read old.link --also-write old", "output old is also an input (old.link)"},
		{"-o OUT --skipped ./OUT", "-o and --skipped name the same output, ./OUT"},
		{"-o - --skipped -", "-o and --skipped name the same output, -"},
		{"--skipped old --distilled-base old.link --base x -o OUT",
			"--distilled-base and --skipped name the same output, old"},
	} {
		t.Chdir(dir)
		called := false
		code, stderr := runCopier(func(*Env, []string) error { called = true; return nil },
			append(strings.Fields(c.args), "in", "b")...)
		if good := c.want == ""; called != good || (code == 0) != good || !good && code != 2 ||
			!strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit code %d, %q; want %q", c.args, code, stderr, c.want)
		}
	}
}
