package remote

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// The tests of this file count actions on the kernel that e2e/linux builds: one BtfGen for each of
// its objects.

// kernel returns a machine with the workspace of e2e/linux, and the kernel's tree in a directory.
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

// findResults notes what the kernel's targets built.
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

// TestKernel has a second machine, executors and configurations share what a first machine did.
func TestKernel(t *testing.T) {
	long(t)
	tree := harness.Kernel(t)
	first := kernel(t, tree)
	disk := "--disk_cache=" + filepath.Join(t.TempDir(), "disk")
	mapping := preset(t, "path-mapping.bazelrc")
	first.options = append(first.options, mapping...)
	cold := btf(show(t, "kernel, first machine", first.must(disk)))
	if cold.hit != 0 || cold.local < 500 {
		t.Fatalf("the first build ran %d actions and had %d hits", cold.local, cold.hit)
	}
	first.findResults()
	want := first.digests()
	hits := func(t *testing.T, m *machine, what string, o outcome) {
		t.Helper()
		if sum := btf(show(t, "kernel, "+what, o)); sum.hit != cold.local || sum.ran() != 0 {
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
		second.strange()
		hits(t, second, "second machine, disk", second.must(disk))
		for _, s := range []*server{nginx(t), casd(t)} {
			first.must(s.option())
			hits(t, second, "second machine, "+s.option()[:19], second.must(s.option()))
		}
	})
	t.Run("execution", func(t *testing.T) {
		for _, download := range []string{"minimal", "toplevel"} {
			options := append(casd(t).execute(t), "--remote_download_outputs="+download)
			sum := btf(show(t, "kernel, remotely, "+download, first.must(options...)))
			if sum.remote != cold.local || sum.local+sum.hit != 0 {
				t.Errorf("%d ran remotely, %d here, %d were hits; want %d remotely", sum.remote, sum.local,
					sum.hit, cold.local)
			}
			first.ok(first.rebuild(append(options, "--remote_download_outputs=toplevel")...))
			first.same(want)
		}
	})
	t.Run("damage", func(t *testing.T) {
		first.t = t
		blobs := filesBelow(t, strings.TrimPrefix(disk, "--disk_cache=")+"/cas")
		damage(t, blobs)
		o := first.build(disk, "--remote_download_outputs=all")
		fmt.Printf("\nkernel, %d blobs of the disk cache damaged: exit %d in %.1f s, bytes %s\n",
			len(blobs), o.exit, o.seconds, first.right(want))
		show(t, "kernel, damaged disk cache", first.ok(o))
		first.same(want)
	})
}

// copyInPlace copies a tree of kernel.sh, and shows the copy where Kbuild built the original: tools
// of the kernel note their absolute paths, and where these are others all objects are compiled
// again.
func copyInPlace(t *testing.T, source string) string {
	t.Helper()
	needRoot(t)
	tree := filepath.Join(t.TempDir(), "linux")
	harness.MustRun(t, "", "cp", "-a", source, tree)
	place := source + ".partial"
	if exists(place) {
		t.Skipf("SKIPPED: %s is there: is kernel.sh building?", place)
	}
	if err := os.Mkdir(place, 0o755); err != nil {
		t.Fatal(err)
	}
	harness.MustRun(t, "", "mount", "--bind", tree, place)
	t.Cleanup(func() {
		harness.Command{Argv: []string{"umount", "-l", place}}.Run()
		os.Remove(place)
	})
	return place
}

// TestKernelEdits edits the kernel's source, and has Kbuild compile and link it.
func TestKernelEdits(t *testing.T) {
	long(t)
	source := harness.Kernel(t)
	harness.KernelCompiler(t, source)
	tree := copyInPlace(t, source)
	m := kernel(t, tree)
	m.ok(m.rebuild())
	m.findResults()
	edit := func(name, file, old, new string) {
		t.Run(name, func(t *testing.T) {
			m.t = t
			path := filepath.Join(tree, file)
			text := string(harness.ReadFile(t, path))
			if !strings.Contains(text, old) {
				t.Fatalf("%s has no %q", file, old)
			}
			harness.WriteFile(t, path, strings.Replace(text, old, new, 1))
			before := m.digests()
			began := time.Now()
			r := harness.Command{Dir: tree, Timeout: 40 * time.Minute,
				Argv: []string{"make", "-j2", "vmlinux"},
				Env: []string{"KBUILD_BUILD_TIMESTAMP=1970-01-01", "KBUILD_BUILD_USER=rules_btf",
					"KBUILD_BUILD_HOST=rules_btf"}}
			out := r.Must(t)
			fmt.Printf("\nkernel, %s: Kbuild compiled %d files in %.0f s\n", name,
				strings.Count(out, "\n  CC "), time.Since(began).Seconds())
			ran := show(t, "kernel, "+name, m.ok(m.rebuild()))
			for _, mnemonic := range []string{"BtfMerge", "BtfLink", "BtfBase"} {
				if ran[mnemonic].ran() != 0 {
					t.Errorf("%s ran %d times, want 0", mnemonic, ran[mnemonic].ran())
				}
			}
			if ran["BtfFacts"].ran() != 1 {
				t.Errorf("BtfFacts ran %d times, want 1, for vmlinux", ran["BtfFacts"].ran())
			}
			switch gen := ran["BtfGen"].ran(); {
			case name == "body" && gen != 2:
				t.Errorf("BtfGen ran %d times, want 2: for the file and init/version-timestamp.o", gen)
			case name != "body" && gen < 500:
				t.Errorf("BtfGen ran %d times, want one for each object of vmlinux", gen)
			}
			m.same(before)
		})
	}
	edit("body", "lib/argv_split.c", "int count = 0;",
		"int count = 0; volatile int debug = 1; debug++;")
	edit("every object", "include/linux/kconfig.h", "#define __LINUX_KCONFIG_H",
		"#define __LINUX_KCONFIG_H\n\n/* moves lines */\n")
}
