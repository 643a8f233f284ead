package random

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

var (
	programs = flag.Uint64("programs", 50, "how many random programs to try")
	first    = flag.Uint64("first", 0, "the seed of the first program")
	seed     = flag.Int64("seed", -1, "try only the program with this seed")
	only     = flag.String("check", "", "run only this check")
	shrink   = flag.Duration("shrink", 40*time.Second,
		"how long to look for a smaller program that fails, per failure")
	keep = flag.String("keep", filepath.Join(os.TempDir(), "random-failures"),
		"where to keep the sources of programs that fail")
)

func TestMain(m *testing.M) {
	flag.Parse()
	harness.Main(m)
}

// toolsUnderTest returns the tools. It skips the test if one of the given programs is missing.
func toolsUnderTest(t *testing.T, programs ...string) Tools {
	t.Helper()
	harness.Need(t, programs...)
	return Tools{harness.Tool(t, "btfgen"), harness.Tool(t, "btfdedup")}
}

// TestPrograms runs the checks on random programs.
func TestPrograms(t *testing.T) {
	tools := toolsUnderTest(t, "gcc", "g++", "clang", "clang++", "ld", "ld.lld", "dwz", "pahole")
	from, to := *first, *first+*programs
	if *seed >= 0 {
		from, to = uint64(*seed), uint64(*seed)+1
	}
	cache := t.TempDir()
	for n := from; n < to; n++ {
		t.Run(fmt.Sprintf("seed=%d", n), func(t *testing.T) {
			t.Parallel()
			tryProgram(t, n, cache, tools)
		})
	}
}

func tryProgram(t *testing.T, n uint64, cache string, tools Tools) {
	o := NewOptions(n)
	p := Generate(n, o)
	b, err := NewBuild(p, o, n, t.TempDir(), cache, tools)
	if err != nil {
		t.Fatalf("seed %d (%v): the generator wrote an invalid program: %v", n, o, err)
	}
	for _, c := range Checks {
		if !c.Applies(p, o) || *only != "" && *only != c.Name {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			if err := c.Run(b); err != nil {
				report(t, n, o, c, err, cache, tools)
			}
		})
		if c.Name == "graph" && !b.made["elf.btf"] {
			return // the other checks would report the same failure
		}
	}
}

// shrunk counts the failures of each check. Only the first few are shrunk, because more would show
// nothing new.
var shrunk struct {
	sync.Mutex
	count map[string]int
}

func mayShrink(check string) bool {
	const most = 2
	shrunk.Lock()
	defer shrunk.Unlock()
	if shrunk.count == nil {
		shrunk.count = map[string]int{}
	}
	shrunk.count[check]++
	return shrunk.count[check] <= most
}

// report fails the test. It prints all that is needed to reproduce the failure, and a smaller
// program that fails.
func report(t *testing.T, n uint64, o Options, c Check, err error, cache string, tools Tools) {
	p := Generate(n, o)
	dir := filepath.Join(*keep, fmt.Sprintf("seed-%d-%s", n, c.Name))
	save(t, p, filepath.Join(dir, "sources"))
	t.Errorf("check %s fails for seed %d: %s\n"+
		"again: go test ./e2e/random -run TestPrograms -seed=%d -check=%s\nsources: %s\n%v",
		c.Name, n, o, n, c.Name, dir, err)
	if *shrink == 0 || NotBuilt(err) || !mayShrink(c.Name) {
		return
	}
	smaller, cause := Shrink(p, o, n, c, err, cache, tools, time.Now().Add(*shrink))
	save(t, p, filepath.Join(dir, "shrunk"))
	harness.WriteFile(t, filepath.Join(dir, "README"), fmt.Sprintf("%s: %s\n%v\n", c.Name, smaller,
		cause))
	t.Errorf("check %s with a smaller program, %s:\n%v\n%s", c.Name, smaller, cause, sources(p))
}

func save(t *testing.T, p *Program, dir string) {
	t.Helper()
	os.RemoveAll(dir)
	for _, u := range p.Files() {
		harness.WriteFile(t, filepath.Join(dir, u.Path), u.Text())
	}
}

func sources(p *Program) string {
	var b strings.Builder
	if len(p.Roots) > 0 {
		fmt.Fprintf(&b, "/* the linker keeps %s */\n", strings.Join(p.Roots, ", "))
	}
	for _, u := range p.Files() {
		fmt.Fprintf(&b, "/* %s */\n%s", u.Path, u.Text())
	}
	return b.String()
}
