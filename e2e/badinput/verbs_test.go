package badinput

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func TestMain(m *testing.M) { harness.Main(m) }

// A verb is a command line of one of the tools, with "IN" and "OUT" in place of the file names.
type verb struct {
	name   string
	argv   []string // with the placeholders "IN" and "OUT"; see the method replace
	output bool     // whether the verb writes OUT
}

func (v verb) replace(in, out string) []string {
	argv := make([]string, len(v.argv))
	for i, a := range v.argv {
		switch a {
		case "IN":
			a = in
		case "OUT":
			a = out
		}
		argv[i] = a
	}
	return argv
}

// elfVerbs returns the verbs that read an ELF file with DWARF.
func elfVerbs(t *testing.T) []verb {
	btfgen := harness.Tool(t, "btfgen")
	return []verb{
		{"btfgen object", []string{btfgen, "object", "-o", "OUT", "IN"}, true},
		{"btfgen facts", []string{btfgen, "facts", "-o", "OUT", "IN"}, true},
		{"btfgen elf", []string{btfgen, "elf", "-o", "OUT", "IN"}, true},
	}
}

// embedVerbs returns the verbs that copy an ELF file and embed BTF in the copy. The file good has
// the BTF to embed, which is valid.
func embedVerbs(t *testing.T, good string) []verb {
	btfdedup := harness.Tool(t, "btfdedup")
	return []verb{
		{"btfdedup embed", []string{btfdedup, "embed", "-o", "OUT", "--drop-signature", "--btf", good,
			"IN"}, true},
		{"btfdedup embed --object", []string{btfdedup, "embed", "-o", "OUT", "--object", "--btf", good,
			"IN"}, true},
	}
}

// btfVerbs returns the verbs that read BTF from any kind of file. The file good has valid BTF,
// which some of the verbs read together with the input. The file object is a valid BTF object,
// which "btfdedup link --base" links against the input.
func btfVerbs(t *testing.T, good, object string) []verb {
	btfdedup := harness.Tool(t, "btfdedup")
	dir := t.TempDir()
	split, distilled := filepath.Join(dir, "split.btf"), filepath.Join(dir, "distilled.btf")
	harness.MustRun(t, "", btfdedup, "link", "-o", split, "--base", good, "--distilled-base",
		distilled, object)
	return []verb{
		{"btfdedup relocate", []string{btfdedup, "relocate", "-o", "OUT", "--base", "IN",
			"--distilled-base", distilled, split}, true},
		{"btfdedup archive", []string{btfdedup, "archive", "-o", "-", "--release", "1", "--vmlinux",
			"IN"}, false},
		{"btfdedup merge", []string{btfdedup, "merge", "-o", "OUT", "IN"}, true},
		{"btfdedup link", []string{btfdedup, "link", "-o", "OUT", "IN"}, true},
		{"btfdedup link --base", []string{btfdedup, "link", "-o", "OUT", "--base", "IN", object}, true},
		{"btfdedup import", []string{btfdedup, "import", "-o", "OUT", "IN"}, true},
		{"btfdedup verify", []string{btfdedup, "verify", "IN"}, false},
		{"btfdedup diff", []string{btfdedup, "diff", "IN", good}, false},
		{"btfdedup conflicts", []string{btfdedup, "conflicts", "IN", good}, false},
		{"btfdedup stats", []string{btfdedup, "stats", "IN"}, false},
	}
}

// Every Nth failed run, where N is the constant every, is repeated with an existing output file.
const every = 8

var failures int

const keep = "what was here before\n" // the content of the output file that already exists

// check runs v on an input file. If the command succeeds, check returns "". Otherwise it returns
// the command's error message, or "differs" or "refused" if the report is on stdout instead. It
// fails the test if the command does something that no input may cause, such as a crash.
func check(t *testing.T, v verb, what, in string) string {
	t.Helper()
	dir := t.TempDir()
	fresh, old := filepath.Join(dir, "fresh"), filepath.Join(dir, "old")
	harness.WriteFile(t, old, keep)
	r := run(t, v, what, v.replace(in, fresh))
	if r.Exit == 0 {
		if v.output && !exists(fresh) {
			t.Errorf("%s: %s: exit 0, but no output file", what, v.name)
		}
		return ""
	}
	line := strings.TrimSuffix(r.Stderr, "\n")
	switch {
	case r.Exit != 1:
		t.Errorf("%s: %s: exit %d, want 0 or 1; stderr: %s", what, v.name, r.Exit, head(line))
	case v.name == "btfdedup diff" && line == "":
		// Both files can be read, but they differ: the report on stdout must say so.
		if r.Stdout == "" {
			t.Errorf("%s: %s: exit 1 without a message", what, v.name)
		}
		return "differs"
	case v.name == "btfdedup verify" && line == "" && r.Stdout != "":
		return "refused"
	case line == "" || strings.Contains(line, "\n"):
		t.Errorf("%s: %s: want one line on stderr, have %q", what, v.name, head(r.Stderr))
	case in != "" && !strings.Contains(line, filepath.Base(in)):
		t.Errorf("%s: %s: the message doesn't name the file: %q", what, v.name, head(line))
	}
	failures++
	if v.output && exists(fresh) {
		t.Errorf("%s: %s: failed, but left an output file", what, v.name)
	}
	if v.output && failures%every == 1 {
		run(t, v, what, v.replace(in, old))
		if got := harness.ReadFile(t, old); string(got) != keep {
			t.Errorf("%s: %s: failed, but changed the existing output file", what, v.name)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 1 {
		t.Errorf("%s: %s: failed, but left %d files beside the output", what, v.name, len(left)-1)
	}
	return line
}

func run(t *testing.T, v verb, what string, argv []string) harness.Result {
	t.Helper()
	r := must.Get(harness.Command{Argv: argv, Timeout: 20 * time.Second}.Run())(t)
	if r.TimedOut {
		t.Errorf("%s: %s: still running after 20 s", what, v.name)
	}
	for _, word := range []string{"panic", "goroutine ", "runtime error", "index out of range"} {
		if strings.Contains(r.Stderr, word) {
			t.Errorf("%s: %s: the tool crashed: %s", what, v.name, head(r.Stderr))
			break
		}
	}
	return r
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func head(s string) string {
	if len(s) > 400 {
		s = s[:400] + "..."
	}
	return s
}

// sample is C source that has the constructs for which the readers have code.
const sample = `
struct node { struct node *next; int bits : 3; union { long l; char c[8]; }; };
enum color { RED, GREEN = 7 };
enum wide { WIDE = 1UL << 40 };
typedef int (*callback)(struct node *n, enum color c, ...);
__attribute__((section(".data..percpu"))) struct node per_cpu = {0};
static callback table[4];
double ratio(float a, double b) { return a / b; }
int apply(struct node *n, callback f, enum wide w) { table[0] = f; return f(n, RED) + (w == WIDE); }
int main(void) { return apply(&per_cpu, table[1], WIDE); }
`

// compile compiles sample with gcc in a new directory, and returns the path of the output.
func compile(t *testing.T, output string, options ...string) string {
	t.Helper()
	dir := t.TempDir()
	harness.WriteFile(t, filepath.Join(dir, "sample.c"), sample)
	harness.MustRun(t, dir, append([]string{"gcc", "sample.c", "-o", output}, options...)...)
	return filepath.Join(dir, output)
}
