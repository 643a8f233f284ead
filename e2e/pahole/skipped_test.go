package pahole

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// skippedSources has a function for each reason for which pahole leaves out functions.
var skippedSources = [2]string{`
int different(int a) { return a; }
static __attribute__((noipa)) int twice(int a) { return a; }
int ext(int a) { return twice(a); }
static __attribute__((noinline)) int constant(int a, int b) { return ext(a) * b - ext(b); }
int calls(int x) { return constant(x, 2) + constant(x + 1, 2) + ext(x); }
__attribute__((noipa)) int first(struct { double d; long l; } *p, int a) { return a; }
__attribute__((noipa)) double floating(double d, int k) { return d + k; }
struct __attribute__((packed)) packed { char c; long l; };
__attribute__((noipa)) long uncertain(int a, int b, int c, int d, int e, int f, struct packed g)
{
	return g.l;
}
`, `
extern int ext(int);
static int different(long a) { return ext(a); }
static __attribute__((noipa)) int twice(int a) { return a + 1; }
int other(long x) { return different(x) + twice(x); }
void _start(void) { other(1); }
`}

var skippedLine = regexp.MustCompile(`(?m)^\S+ : skipping BTF encoding of function due to .*$`)

// compileSkipped compiles skippedSources to a file vmlinux in dir.
func compileSkipped(t *testing.T, dir string) {
	t.Helper()
	harness.Need(t, "gcc")
	argv := []string{"gcc", "-std=gnu17", "-g", "-O2", "-fno-pic", "-w", "-nostdlib", "-static", "-o",
		"vmlinux"}
	for i, source := range skippedSources {
		name := string(rune('a'+i)) + ".c"
		harness.WriteFile(t, filepath.Join(dir, name), source)
		argv = append(argv, name)
	}
	harness.MustRun(t, dir, argv...)
}

// TestSkipped compares the lines that both paholes print for skipped functions. It ignores the
// lines with "mismatch", in which only dwarves' pahole prints how prototypes differ.
func TestSkipped(t *testing.T) {
	needOracle(t)
	dir := t.TempDir()
	compileSkipped(t, dir)
	lines := func(tool string) []string {
		out := harness.MustRun(t, dir, tool, "-V", "--btf_features=default",
			"--btf_encode_detached=out.btf", "vmlinux")
		list := skippedLine.FindAllString(out, -1)
		slices.Sort(list)
		return slices.DeleteFunc(list, func(s string) bool { return strings.Contains(s, " mismatch") })
	}
	ours, theirs := lines(harness.Tool(t, "pahole")), lines("pahole")
	if !slices.Equal(ours, theirs) {
		t.Errorf("ours:\n%s\npahole's:\n%s", strings.Join(ours, "\n"), strings.Join(theirs, "\n"))
	}
	for _, reason := range []string{"ambiguous address", "inconsistet prototype",
		"optimized parameters", "uncertain parameter location",
		"unexpected register usage for parameter"} {
		if !slices.ContainsFunc(theirs, func(s string) bool { return strings.HasSuffix(s, reason) }) {
			t.Errorf("pahole skips no function due to %s", reason)
		}
	}
}
