package remote

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

var (
	rounds = flag.Int("rounds", 4, "how often TestRandomMoments kills something")
	seed   = flag.Uint64("seed", 0, "the seed for TestRandomMoments; 0 for a different one each time")
)

// victim is what one round of the test kills: a server, or Bazel.
type victim struct {
	name    string
	options []string
	exits   []int // the exit codes that the faulty build may have
	kill    func()
	repair  func()
}

// TestRandomMoments kills a cache, an executor or Bazel at a random moment during a build. The next
// build, which uses what is left, must have the right bytes. So must the build after that, which
// starts from scratch and uses the cache.
func TestRandomMoments(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	fmt.Printf("\nTo repeat this test: e2e/remote/run -run TestRandomMoments -seed=%d -rounds=%d\n",
		*seed, *rounds)
	random := rand.New(rand.NewPCG(*seed, 0))
	m, want := quick(t)
	// A build takes longer with an empty cache or an executor than without one.
	latest := 1.3 * m.must().seconds
	fmt.Printf("\n| round | killed | after (of %.1f s) | Bazel ended with | bytes | the next build "+
		"| from the cache |\n|--:|---|--:|--:|---|---|---|\n", latest)
	for round := range *rounds {
		v := victims[round%len(victims)](t, m)
		moment := time.Duration(random.Float64() * latest * float64(time.Second))
		faulty := m.killed(v, moment)
		bytes := m.right(want)
		v.repair()
		next := m.rebuild(v.options...)
		end := m.right(want)
		fromCache := m.build(v.options...)
		fmt.Printf("| %d | %s | %.2f s | %d after %.2f s | %s | %d, %s | %d, %s |\n", round, v.name,
			moment.Seconds(), faulty.exit, faulty.seconds, bytes, next.exit, end, fromCache.exit,
			m.right(want))
		if !one(v.exits, faulty.exit) {
			t.Errorf("%s: Bazel ended with exit code %d, want one of %d\n%s", v.name, faulty.exit, v.exits,
				tail(faulty.stderr))
		}
		if faulty.exit == 0 && bytes != "right" || end != "right" {
			t.Errorf("%s: exit %d, bytes: %s; bytes after the next build: %s", v.name, faulty.exit, bytes,
				end)
		}
		m.ok(next)
		m.ok(fromCache)
		m.same(want)
	}
}

// killed builds from scratch, and kills the victim at the given moment unless the build has ended
// before.
func (m *machine) killed(v victim, moment time.Duration) outcome {
	m.t.Helper()
	m.bazel("clean").Must(m.t)
	done := make(chan struct{})
	timer := time.AfterFunc(moment, func() {
		defer close(done)
		v.kill()
	})
	o := m.rebuild(v.options...)
	if !timer.Stop() {
		<-done
	}
	return o
}

// victims has a function for each kind of victim. The function starts a server with empty storage,
// if the victim needs one.
var victims = []func(testing.TB, *machine) victim{
	func(t testing.TB, m *machine) victim {
		s := nginx(t)
		// The build doesn't go through the proxy, because the proxy would answer for a dead server.
		return cacheVictim(t, "HTTP cache", s, "--remote_cache=http://"+s.addr)
	},
	func(t testing.TB, m *machine) victim {
		s := casd(t)
		return cacheVictim(t, "gRPC cache", s, s.option())
	},
	func(t testing.TB, m *machine) victim {
		s := casd(t)
		return victim{name: "executor", exits: []int{0}, kill: s.kill, repair: s.restart,
			options: append(s.execute(t), preset(t, "download.bazelrc")...)}
	},
	func(t testing.TB, m *machine) victim {
		return victim{name: "Bazel, with a disk cache", exits: []int{0, 37},
			options: append(preset(t, "remote-cache.bazelrc"),
				"--disk_cache="+filepath.Join(t.TempDir(), "disk")),
			kill: func() {
				if pid := m.server(); pid != 0 {
					syscall.Kill(pid, syscall.SIGKILL)
				}
			},
			repair: func() {},
		}
	},
}

func cacheVictim(t testing.TB, name string, s *server, option string) victim {
	return victim{name: name, exits: []int{0}, kill: s.kill, repair: s.restart,
		options: append(preset(t, "remote-cache.bazelrc"), option)}
}
