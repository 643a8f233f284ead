package remote

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

var (
	large      = flag.Int("large", 0, "how many objects the kernel in TestLarge has")
	largeGrain = flag.String("large_grain", grain16, "the option that sets the flag grain")
)

// TestLarge prints the time that Bazel takes for a kernel with many objects, which are copies of a
// few hundred objects. It measures the analysis, the first build, a build without a change, and a
// build after a change of one object.
func TestLarge(t *testing.T) {
	if *large == 0 {
		t.Skip("SKIPPED: e2e/remote/run --large 10000 runs it")
	}
	const distinct = 200
	m := objects(t, distinct)
	m.options = append(m.options, *largeGrain)
	spread(t, m, *large)
	fmt.Printf("\n| %d objects | seconds | actions of rules_btf |\n|---|--:|--:|\n", *large)
	row := func(what string, o outcome) {
		m.ok(o)
		fmt.Printf("| %s | %.1f | %d |\n", what, o.seconds, btfSum(counts(o.spawns)).ran())
	}
	row("Bazel starts, loads and analyses (`--nobuild`)", m.rebuild("--nobuild"))
	row("the first build", m.rebuild())
	for range 3 {
		row("nothing changed", m.rebuild())
	}
	m.write("dir0/file0.c", "int changed;\n"+objectsSource(0))
	m.gcc("dir0/file0.c")
	row("one object changed, with a new variable", m.rebuild())
	fmt.Printf("| memory of Bazel's server after this | %.0f MB resident, largest %.0f MB | |\n",
		m.memory("VmRSS"), m.memory("VmHWM"))
	m.bazel("shutdown").Must(t)
	row("a new server, nothing changed", m.rebuild())
	fmt.Printf("| memory of the new server | %.0f MB resident, largest %.0f MB | |\n",
		m.memory("VmRSS"), m.memory("VmHWM"))
}

// memory returns a value from the /proc/PID/status of Bazel's server, in MB.
func (m *machine) memory(name string) float64 {
	m.t.Helper()
	status := harness.ReadFile(m.t, fmt.Sprintf("/proc/%d/status", m.server()))
	match := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(status)
	if match == nil {
		m.t.Fatalf("/proc has no %s for Bazel's server", name)
	}
	kib, err := strconv.ParseFloat(string(match[1]), 64)
	if err != nil {
		m.t.Fatal(err)
	}
	return kib * 1024 / 1e6
}

// spread copies the objects until there are n objects, into directories with 50 objects each, and
// writes a BUILD file.
func spread(t *testing.T, m *machine, n int) {
	t.Helper()
	objects, err := filepath.Glob(filepath.Join(m.dir, "dir*/*.o"))
	if err != nil {
		t.Fatal(err)
	}
	build := `load("@rules_btf//rules:defs.bzl", "btf_objects", "vmlinux_btf")

DIRS = %d

[btf_objects(
    name = "dir%%d" %% d,
    srcs = glob(["dir%%d/*.o" %% d, "many%%d/*.o" %% d], allow_empty = True),
) for d in range(DIRS)]

vmlinux_btf(
    name = "vmlinux_btf",
    srcs = [":dir%%d" %% d for d in range(DIRS)],
    vmlinux = "vmlinux",
)
`
	dirs := max((n-len(objects)+49)/50, (len(objects)+objectsPerDir-1)/objectsPerDir)
	m.write("BUILD.bazel", fmt.Sprintf(build, dirs))
	m.targets, m.results = []string{"//:vmlinux_btf"}, []string{"vmlinux_btf.btf"}
	for i := range n - len(objects) {
		from := objects[i%len(objects)]
		to := filepath.Join(m.dir, fmt.Sprintf("many%d/copy%d.o", i/50, i))
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			t.Fatal(err)
		}
		// Each copy gets different bytes at the end, so that no two inputs are the same.
		content := append(harness.ReadFile(t, from), fmt.Sprintf("%8d", i)...)
		if err := os.WriteFile(to, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
