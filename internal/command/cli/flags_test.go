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
)

// of is a program with a command that takes the common flags and those that define defines, which
// returns what the command does.
func of(use string, takes Common, define func(*FlagSet) Run) func() *cobra.Command {
	return func() *cobra.Command {
		f := NewFlags(&cobra.Command{Use: use}, takes)
		return NewProgram("prog", "", f.Command(define(f)))
	}
}

// call runs a program on words and returns the exit code and what is on standard error.
func call(program func() *cobra.Command, words string) (int, string) {
	var stderr bytes.Buffer
	code := Execute(program, strings.Fields(words), nil, new(bytes.Buffer), &stderr)
	return code, stderr.String()
}

// runCopier runs a command that takes all common flags, some others that name files, and calls run.
// It returns the exit code and what is on standard error.
func runCopier(run Run, args ...string) (int, string) {
	var stderr bytes.Buffer
	p := of("copy A B", Output|Base|Features|Skipped|DistilledBase|Report, func(fs *FlagSet) Run {
		fs.InputVar(new(string), "also-read", "")
		fs.OutputVar(new(string), "also-write", "")
		fs.OutputDirVar(new(string), "directory", "")
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
		"--distilled_base=small", "--stats=stats", "-v") // underscores are dashes
	want := Flags{Output: "out", Bases: []string{"x", "y"}, Jobs: 7, Skipped: "list",
		Features: features.Default().Without(features.Float), DistilledBase: "small", Verbose: true,
		Stats: "stats"}
	if code != 0 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("exit code %d: %s\n%+v, want\n%+v", code, stderr, got, want)
	}
}

// TestEmptyNames gives flags the empty name, as a shell does for a variable that is not set.
func TestEmptyNames(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--also-read= -o out", `"" for "--also-read" flag: name a file`},
		{"--also-write= -o out", `"" for "--also-write" flag: name a file`},
		{"--directory= -o out", `"" for "--directory" flag: name a file`},
		{"--stats= -o out", `"" for "--stats" flag: name a file`},
		{"--base= -o out", "--base is empty; name a file"},
		{"--base x --base= -o out", "--base is empty; name a file"},
		{"--output=", `"" for "-o, --output" flag: name a file`},
		{"-o out", ""},
	} {
		ran := false
		code, stderr := runCopier(func(*Env, []string) error { ran = true; return nil },
			append(strings.Fields(c.args), "a", "b")...)
		if !strings.Contains(stderr, c.want) || (code == 2) != (c.want != "") || ran != (c.want == "") {
			t.Errorf("%s: exit code %d, %s; want %s", c.args, code, stderr, c.want)
		}
	}
	printer := of("print", Printed, func(*FlagSet) Run {
		return func(*Env, []string) error { t.Error("-o=: it runs"); return nil }
	})
	if code, _ := call(printer, "print --output="); code != 2 {
		t.Errorf("-o= where that is standard output without it: exit code %d", code)
	}
}

// TestGivenTwice refuses a second name where there is one file, and nothing else that is given
// twice.
func TestGivenTwice(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-o x -o y", `"y" for "-o, --output" flag: x is given already; name one file`},
		{"-ox --output=x", "x is given already"},
		{"-o x --stats=y --stats z", "y is given already"},
		{"-o x --also_read y --also-read z", "y is given already"},
		{"-o x --directory y --directory z", "y is given already"},
		{"-o x --base y --base y -j1 -j2 --features=var --features=float", ""},
	} {
		code, stderr := runCopier(func(*Env, []string) error { return nil },
			append(strings.Fields(c.args), "a", "b")...)
		if !strings.Contains(stderr, c.want) || (code == 2) != (c.want != "") {
			t.Errorf("%s: exit code %d, %s; want %s", c.args, code, stderr, c.want)
		}
	}
}

// TestMissingDirs warns of a directory that is named and isn't there, not of the default one.
func TestMissingDirs(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("here", 0o777); err != nil {
		t.Fatal(err)
	}
	const warning = "prog: warning: --debug-dir nope: there is no such directory\n"
	for args, want := range map[string]string{
		"": "", "--debug-dir here": "", "--debug-dir=": "", "--debug-dir here --debug-dir nope": warning,
		"-q --debug-dir nope -o out": "",
	} {
		p := of("find", Report|Printed, func(fs *FlagSet) Run {
			fs.DirsVar(new([]string), "debug-dir", []string{"/none/at/all"}, "")
			return func(*Env, []string) error { return nil }
		})
		if code, stderr := call(p, "find "+args); code != 0 || stderr != want {
			t.Errorf("%s: exit code %d, %q; want %q", args, code, stderr, want)
		}
	}
}

// TestFollowFlag: what names files to follow may name none, and contradicts directories to look at.
func TestFollowFlag(t *testing.T) {
	for args, want := range map[string]string{
		"":                           "[] false",
		"--follow=":                  `[""] true`,
		"--follow= --follow x":       `["" "x"] true`,
		"--follow x -o ./x":          "output ./x is also an input (x)",
		"--follow x --debug-dir=d":   "--follow and --debug-dir contradict each other",
		"--follow= --debug-dir d -q": "--follow and --debug-dir contradict each other",
	} {
		var follow, dirs []string
		got := ""
		code, stderr := call(of("find", Report|Printed, func(fs *FlagSet) Run {
			fs.DirsVar(&dirs, "debug-dir", []string{"/none"}, "")
			fs.FollowVar(&follow)
			return func(*Env, []string) error {
				got = fmt.Sprintf("%q %t", follow, follow != nil)
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

// TestJobsLimitTheRuntime wants no more threads to run at the same time than -j says, nor more than
// without it.
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

// TestOutputsAndInputs refuses an output that is another one or an input, by whatever path.
func TestOutputsAndInputs(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"in", "old"} {
		if err := os.WriteFile(p(name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(name, p(name+".link")); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ args, want string }{
		{"-o OUT", ""},
		{"-o OUT --skipped old --also-write new --stats -", ""},
		{"-o /dev/null --skipped /dev/null --base /dev/null", ""},
		{"-o OUT --directory other", ""},
		{"", `required flag(s) "output" not set`},
		{"-o in", "output in is also an input (in); write to another file"},
		{"-o in.link", "output in.link is also an input (in)"},
		{"-o ./in", "output ./in is also an input (in)"},
		{"-o OUT --stats in", "output in is also an input"},
		{"-o OUT --base x --skipped x", "output x is also an input"},
		{"-o OUT --also-read old.link --also-write old", "output old is also an input (old.link)"},
		{"-o OUT --stats ./OUT", "-o and --stats name one output, ./OUT"},
		{"-o - --stats -", "-o and --stats name one output, -"},
		{"--skipped old --distilled-base old.link --base x -o OUT",
			"--distilled-base and --skipped name one output, old"},
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

// TestMoveTo: a persistent worker finds relative paths, but for empty ones, in the directory of the
// request.
func TestMoveTo(t *testing.T) {
	var file string
	var dirs, follow []string
	for _, tt := range []struct{ args, want string }{
		{"-o out --base b --base /c --file f a /b -", "[dir/a /b -] dir/out [dir/b /c] dir/f [/usr] []"},
		{"-o - --dir d --dir= --dir /e a", `[dir/a] - [] "" [dir/d "" /e] []`},
		{"-o - --follow= --follow x a", `[dir/a] - [] "" [/usr] ["" dir/x]`},
	} {
		file = ""
		flags := NewFlags(&cobra.Command{Use: "move A..."}, Output|Base)
		flags.InputVar(&file, "file", "")
		flags.DirsVar(&dirs, "dir", []string{"/usr"}, "")
		flags.FollowVar(&follow)
		if err := flags.Parse(strings.Fields(tt.args)); err != nil {
			t.Fatal(err)
		}
		args := flags.moveTo("dir", flags.Args())
		got := strings.ReplaceAll(fmt.Sprintf("%q %q %q %q %q %q", args, flags.values.Output,
			flags.values.Bases, file, dirs, follow), `"`, "")
		if got != strings.ReplaceAll(tt.want, `"`, "") {
			t.Errorf("%s: %s, want %s", tt.args, got, tt.want)
		}
	}
}
