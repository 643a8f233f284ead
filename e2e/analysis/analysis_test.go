// Package analysis shows what our rules cost while Bazel loads and analyses a build: the processor
// time and the heap of Bazel's server, for generated packages of growing sizes.
//
//	./bazelw --root-exec go test -v -timeout 3h ./e2e/analysis -sizes=2000,8000 -rounds=3
//
// With -rules=DIR,DIR, the rules in two checkouts are measured alternately. Without -sizes, nothing
// is measured: the test only shows that small packages can be analysed. No time or size makes it
// fail, because machines differ.
package analysis

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

var (
	sizes  = flag.String("sizes", "", "numbers of objects, libraries, modules or binaries")
	linked = flag.Int("linked", 10, "how many libraries each of the binaries links")
	rounds = flag.Int("rounds", 1, "the table shows medians of this many rounds")
	rules  = flag.String("rules", harness.Repo(), "directories of checkouts to compare")
)

func TestMain(m *testing.M) { harness.Main(m) }

// cost is what a build costs the server.
type cost struct {
	cpu  float64 // seconds of processor time
	heap int     // MB that the build adds to the heap
}

// server measures builds in a workspace.
type server struct {
	*harness.Workspace
	rules string // the name of the checkout
}

// measure loads and analyses a target of a package. It starts the server anew and first analyses
// small packages, so that neither earlier builds nor the toolchains count.
func (s *server) measure(pkg, content, target string) cost {
	s.Helper()
	s.Shell("bazel shutdown")
	s.Write(pkg+"/BUILD.bazel", load+content)
	s.Shell("bazel build --nobuild //small/...")
	heap := s.heap()
	cpu := s.cpu()
	s.Shell("bazel build --nobuild //" + pkg + ":" + target)
	spent := s.cpu() - cpu
	return cost{cpu: spent, heap: s.heap() - heap}
}

// cpu returns the processor time of the server in seconds.
func (s *server) cpu() float64 {
	s.Helper()
	pid := strings.TrimSpace(s.Shell("bazel info server_pid 2>log"))
	text := string(harness.ReadFile(s, "/proc/"+pid+"/stat"))
	fields := strings.Fields(text[strings.LastIndex(text, ")")+1:]) // from the field state, the third
	ticks := 0
	for _, field := range fields[11:13] { // utime, stime
		n, err := strconv.Atoi(field)
		if err != nil {
			s.Fatal(err)
		}
		ticks += n
	}
	return float64(ticks) / 100
}

// heap returns the size of the live heap in MB.
func (s *server) heap() int {
	s.Helper()
	printed := strings.TrimSpace(s.Shell("bazel info used-heap-size-after-gc 2>log"))
	mb, err := strconv.Atoi(strings.TrimSuffix(printed, "MB"))
	if err != nil {
		s.Fatal(err)
	}
	return mb
}

func median[T int | float64](of []T) T {
	slices.Sort(of)
	return of[len(of)/2]
}

// TestCost prints a table for each kind of package.
func TestCost(t *testing.T) {
	var servers []*server
	for _, dir := range strings.Split(*rules, ",") {
		s := &server{Workspace: newWorkspace(t, dir), rules: filepath.Base(dir)}
		for i, k := range kinds {
			s.Write(fmt.Sprintf("small/%d/BUILD.bazel", i), load+k.content(1))
		}
		servers = append(servers, s)
	}
	if *sizes == "" {
		servers[0].Shell("bazel build --nobuild //small/...")
		return
	}
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) { table(t, servers, k) })
	}
}

// table measures packages of one kind, and prints a row for each size and each checkout. The row
// compares the target "with" to the target "without", and to the target "with" of the size before.
func table(t *testing.T, servers []*server, k kind) {
	fmt.Printf("\n| %s | size | %s | %s | ratio | to the size before | heap | heap | ratio |\n"+
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|\n", k.name, k.without, k.with)
	before := make([]cost, len(servers))
	for _, text := range strings.Split(*sizes, ",") {
		size := must.Get(strconv.Atoi(text))(t)
		for i, p := range measureAll(servers, k, size) {
			without, with := p[0], p[1]
			growth := "–"
			if before[i].cpu > 0 {
				growth = fmt.Sprintf("%.2f", with.cpu/before[i].cpu)
			}
			fmt.Printf("| %s | %d | %.1f s | %.1f s | %.2f | %s | %d MB | %d MB | %.2f |\n",
				servers[i].rules, size, without.cpu, with.cpu, with.cpu/without.cpu, growth,
				without.heap, with.heap, float64(with.heap)/float64(without.heap))
			before[i] = with
		}
	}
}

// measureAll returns the median costs of both targets of a package, for each server. The servers
// take turns.
func measureAll(servers []*server, k kind, size int) [][2]cost {
	cpu, heap := make([][2][]float64, len(servers)), make([][2][]int, len(servers))
	pkg := fmt.Sprintf("%s_%d", k.name, size)
	for range *rounds {
		for i, s := range servers {
			for j, target := range []string{"without", "with"} {
				c := s.measure(pkg, k.content(size), target)
				cpu[i][j], heap[i][j] = append(cpu[i][j], c.cpu), append(heap[i][j], c.heap)
			}
		}
	}
	found := make([][2]cost, len(servers))
	for i := range servers {
		for j := range found[i] {
			found[i][j] = cost{median(cpu[i][j]), median(heap[i][j])}
		}
	}
	return found
}
