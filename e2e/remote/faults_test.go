package remote

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// Each test in this file breaks something during a build. It prints how Bazel ends, and whether the
// results of this build and of the next one have the right bytes.

// row is a row in the table of faults.
type row struct {
	fault  string
	how    string // the options, in words
	faulty outcome
	bytes  string // whether the results are right after the faulty build
	after  string // what was done between the two builds, in words
	next   outcome
	end    string // whether the results are right after the next build
}

var printedHead atomic.Bool

func (r row) print() {
	if !printedHead.Swap(true) {
		fmt.Print("\n| fault | options | Bazel ends with | seconds | bytes | next build | exit " +
			"| seconds | bytes |\n|---|---|---|--:|---|---|--:|--:|---|\n")
	}
	ends := fmt.Sprintf("%d", r.faulty.exit)
	if m := r.faulty.message(); m != "" {
		ends += ": `" + strings.ReplaceAll(m, "`", "'") + "`"
	}
	fmt.Printf("| %s | %s | %s | %.1f | %s | %s | %d | %.1f | %s |\n", r.fault, r.how, ends,
		r.faulty.seconds, r.bytes, r.after, r.next.exit, r.next.seconds, r.end)
}

// fault is something that goes wrong with a server or with Bazel.
type fault struct {
	name    string
	options []string // for both builds
	how     string   // the options, in words
	exit    []int    // the exit codes that the faulty build may have
	// begin is called before the faulty build, and may cause the fault. during is called in the
	// middle of the build, when the request with the number in the field request arrives. end is
	// called after the build, and repairs what an administrator would repair.
	begin   func()
	request int32
	during  func()
	end     func()
	after   string // what end does, in words
}

// try runs a build with a fault, and then another build, which must succeed and have the right
// bytes.
func try(t *testing.T, m *machine, want map[string]string, s *server, f fault) {
	t.Helper()
	if f.begin != nil {
		f.begin()
	}
	if f.during != nil {
		var n atomic.Int32
		s.proxy.Watch(func(*http.Request) {
			if n.Add(1) == f.request {
				f.during()
			}
		})
	}
	r := row{fault: f.name, how: f.how, after: f.after}
	r.faulty = m.build(f.options...)
	if r.faulty.hung && f.end != nil && f.begin != nil {
		// Bazel 7.7 sometimes waits forever for its connections to close.
		f.end()
		f.begin()
		r.faulty = m.build(f.options...)
	}
	if s != nil {
		s.proxy.Watch(nil)
	}
	r.bytes = m.right(want)
	if !one(f.exit, r.faulty.exit) {
		t.Errorf("%s: Bazel ended with exit code %d, want one of %d\n%s", f.name, r.faulty.exit, f.exit,
			tail(r.faulty.stderr))
	}
	if r.faulty.exit == 0 {
		m.same(want)
	}
	if f.end != nil {
		f.end()
	}
	if r.faulty.exit == 0 {
		r.next = m.build(f.options...)
	} else {
		r.next = m.rebuild(f.options...)
	}
	r.end = m.right(want)
	r.print()
	m.ok(r.next)
	m.same(want)
}

func one(of []int, n int) bool {
	for _, v := range of {
		if v == n {
			return true
		}
	}
	return false
}

// TestCacheKilled kills a cache in the middle of a build, starts it again, and builds again.
func TestCacheKilled(t *testing.T) {
	needAll(t)
	m, want := quick(t)
	for name, start := range map[string]func(testing.TB) *server{
		"HTTP": nginx,
		"gRPC": func(t testing.TB) *server { return casd(t) },
	} {
		s := start(t)
		try(t, m, want, s, fault{
			name:    name + " cache killed mid-build",
			how:     "preset",
			options: append(preset(t, "remote-cache.bazelrc"), s.option()),
			exit:    []int{0}, request: 60, during: s.kill,
			after: "the cache runs again", end: s.restart,
		})
	}
}

// TestCacheDead builds with a cache whose server is dead.
func TestCacheDead(t *testing.T) {
	needAll(t)
	m, want := quick(t)
	for _, grpc := range []bool{false, true} {
		s, name := nginx(t), "HTTP"
		if grpc {
			s, name = casd(t), "gRPC"
		}
		s.kill()
		try(t, m, want, s, fault{
			name:    name + " cache is dead",
			how:     "preset",
			options: append(preset(t, "remote-cache.bazelrc"), s.option()),
			exit:    []int{0}, after: "the cache runs again", end: s.restart,
		})
	}
}

// TestRetries prints how much time a dead cache costs with options other than those in the preset.
func TestRetries(t *testing.T) {
	needAll(t)
	m, _ := quick(t)
	targets := m.targets
	defer func() { m.targets = targets }()
	m.targets = []string{"//:dir0"}
	o := m.must()
	fmt.Printf("\n| %d actions, a cache that is dead | options | exit | seconds |\n", btfSum(counts(
		o.spawns)).ran())
	fmt.Println("|---|---|--:|--:|")
	fmt.Printf("| none | | %d | %.1f |\n", o.exit, o.seconds)
	for name, s := range map[string]*server{"HTTP": nginx(t), "gRPC": casd(t)} {
		s.kill()
		for _, options := range [][]string{
			{"--remote_local_fallback", "--remote_retries=0"},
			{"--remote_local_fallback", "--remote_retries=1"},
			{"--remote_local_fallback"}, // Bazel's default: 5 retries
		} {
			o := m.build(append(options, s.option())...)
			fmt.Printf("| %s | `%s` | %d | %.1f |\n", name, strings.Join(options, " "), o.exit, o.seconds)
			m.ok(o)
		}
	}
}

// TestGarbage builds while a login page answers all requests to the cache.
func TestGarbage(t *testing.T) {
	m, want := quick(t)
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html>Please log in to the network of this hotel.</html>")
	})
	for _, grpc := range []bool{false, true} {
		s, name, exits := nginx(t), "HTTP", []int{0}
		if grpc {
			s, name, exits = casd(t), "gRPC", []int{0, 34}
		}
		try(t, m, want, s, fault{
			name: name + " cache answers every request with a login page", how: "preset",
			options: append(preset(t, "remote-cache.bazelrc"), s.option()), exit: exits,
			begin: func() { s.proxy.Answer(page) },
			after: "the cache answers again", end: func() { s.proxy.Answer(nil) },
		})
	}
}

// TestExecutorKilled kills the executor, which is also the cache, while actions run there.
func TestExecutorKilled(t *testing.T) {
	m, want := quick(t)
	for _, v := range []struct {
		how   string
		more  []string
		exits []int
	}{
		{"preset with downloads", preset(t, "download.bazelrc"), []int{0}},
		{"preset", nil, []int{0, 34, 39}},
		{"no local fallback", []string{"--noremote_local_fallback"}, []int{1, 34, 39}},
	} {
		if v.how == "preset" && !*all {
			continue
		}
		s := casd(t)
		var executed atomic.Int32
		try(t, m, want, nil, fault{
			name: "executor killed mid-build", how: v.how, options: append(s.execute(t), v.more...),
			exit: v.exits, after: "the executor runs again", end: s.restart,
			begin: func() {
				executed.Store(0)
				s.proxy.Watch(func(r *http.Request) {
					if strings.HasSuffix(r.URL.Path, "/Execute") && executed.Add(1) == 20 {
						s.kill()
					}
				})
			},
		})
	}
}

// TestBazelKilled kills Bazel's server in the middle of a build.
func TestBazelKilled(t *testing.T) {
	needAll(t)
	m, want := quick(t)
	s := nginx(t)
	try(t, m, want, s, fault{
		name: "Bazel killed mid-build (SIGKILL)", how: "preset",
		options: append(preset(t, "remote-cache.bazelrc"), s.option()), exit: []int{37},
		request: 60, during: func() { syscall.Kill(m.server(), syscall.SIGKILL) },
		after: "no repair",
	})
}

// TestDiskFull runs a tool on a disk that becomes full: in the sandbox, there is room for the links
// to the inputs, but not for a BTF object with a few thousand types.
func TestDiskFull(t *testing.T) {
	m, want := quick(t)
	var source strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&source, "struct s%d { int a%d; char b%d[%d]; } v%d;\n", i, i, i, i+1, i)
	}
	m.write("big/big.c", source.String())
	m.gcc("big/big.c")
	m.write("big/BUILD.bazel", `load("@rules_btf//rules:defs.bzl", "btf_objects")

btf_objects(
    name = "big",
    srcs = ["big.o"],
)
`)
	targets, results := m.targets, m.results
	defer func() { m.targets, m.results = targets, results }()
	m.targets = append([]string{"//big"}, targets...)
	options := []string{"--spawn_strategy=linux-sandbox", "--jobs=1",
		"--sandbox_base=" + tmpfs(t, 160)}
	r := row{fault: "disk full under a tool (160 KiB for sandboxes)", how: "`--sandbox_base`",
		faulty: m.build(options...), after: "a different disk"}
	r.bytes = m.right(want)
	if r.faulty.exit != 1 || !strings.Contains(r.faulty.stderr, "no space left on device") {
		t.Errorf("exit %d, want 1 and the tool's message\n%s", r.faulty.exit, tail(r.faulty.stderr))
	}
	r.next = m.rebuild()
	r.end = m.right(want)
	r.print()
	m.same(want)
}
