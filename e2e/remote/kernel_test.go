package remote

import (
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// The tests in this file count the actions for the kernel that e2e/linux builds. There is one
// BtfGen for each of the kernel's objects.

// kernel returns a machine with the workspace e2e/linux, which uses the given kernel tree.
func kernel(t testing.TB, tree string) *machine {
	t.Helper()
	m := newMachine(t)
	m.targets = []string{"//:vmlinux_btf", "//:modules_btf"}
	harness.CopyWorkspace(t, filepath.Join(harness.Repo(), "e2e/linux"), m.dir)
	m.useTree(tree)
	m.useBuiltTools()
	m.manyActions()
	return m
}

func (m *machine) useTree(tree string) {
	m.t.Helper()
	m.write("kernel.bazelrc", "common --repo_env=KERNEL_DIR="+tree+"\n")
}

// findResults sets m.results to the BTF files that the kernel's targets have built.
func (m *machine) findResults() {
	m.t.Helper()
	bin := filepath.Join(m.dir, "bazel-bin")
	files, err := filepath.Glob(filepath.Join(bin, "external/*kernel/*_btf.btf"))
	if err != nil || len(files) < 2 {
		m.t.Fatalf("the build made %d files of BTF: %v", len(files), err)
	}
	m.results = nil
	for _, f := range files {
		m.results = append(m.results, strings.TrimPrefix(f, bin+"/"))
	}
	sort.Strings(m.results)
}

// TestKernel checks that other configurations, a second machine and executors can use what a first
// machine has built.
func TestKernel(t *testing.T) {
	needAll(t)
	tree := harness.Kernel(t)
	first := kernel(t, tree)
	disk := "--disk_cache=" + filepath.Join(t.TempDir(), "disk")
	mapping := preset(t, "path-mapping.bazelrc")
	first.options = append(first.options, mapping...)
	alone := first.must(disk)
	cold := btfSum(show(t, "kernel, first machine", alone))
	if cold.hit != 0 || cold.local < 500 {
		t.Fatalf("the first build ran %d actions and had %d hits", cold.local, cold.hit)
	}
	first.findResults()
	want := first.digests()
	hits := func(t *testing.T, m *machine, what string, o outcome) {
		t.Helper()
		if sum := btfSum(show(t, "kernel, "+what, o)); sum.hit != cold.local || sum.ran() != 0 {
			t.Errorf("%s: %d ran and %d were hits, want %d hits", what, sum.ran(), sum.hit, cold.local)
		}
		m.same(want)
	}
	t.Run("configurations", func(t *testing.T) {
		for _, mode := range []string{"opt", "dbg"} {
			hits(t, first, mode, first.must(disk, "--compilation_mode="+mode))
		}
	})
	t.Run("machines", func(t *testing.T) {
		elsewhere := filepath.Join(t.TempDir(), "linux")
		harness.MustRun(t, "", "cp", "-a", tree, elsewhere)
		second := kernel(t, elsewhere)
		second.options = append(second.options, mapping...)
		second.results = first.results
		second.makeDifferent()
		sameActions(t, "kernel", alone, ownCaches(t, second)[0])
		second.same(want)
		hits(t, second, "second machine, disk", second.must(disk))
		for _, s := range []*server{nginx(t), casd(t)} {
			first.must(s.option())
			hits(t, second, "second machine, "+s.option()[:19], second.must(s.option()))
		}
	})
	t.Run("execution", func(t *testing.T) {
		for _, download := range []string{"minimal", "toplevel"} {
			options := append(casd(t).execute(t), "--remote_download_outputs="+download)
			sum := btfSum(show(t, "kernel, remotely, "+download, first.must(options...)))
			if sum.remote != cold.local || sum.local+sum.hit != 0 {
				t.Errorf("%d ran remotely, %d locally, %d were hits; want %d remotely", sum.remote, sum.local,
					sum.hit, cold.local)
			}
			first.ok(first.rebuild(append(options, "--remote_download_outputs=toplevel")...))
			first.same(want)
		}
	})
	t.Run("grain", func(t *testing.T) {
		first.t = t
		sum := btfSum(show(t, "kernel, grain 16", first.must(disk, grain16)))
		if sum.local == 0 || sum.ran()+sum.hit > cold.local/4 {
			t.Errorf("%d actions ran and %d were hits, want at most a quarter of %d", sum.ran(), sum.hit,
				cold.local)
		}
		first.same(want)
	})
}
