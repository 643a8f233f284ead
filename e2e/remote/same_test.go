package remote

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/repro"
	"github.com/rules-btf/rules_btf/internal/repro/execlog"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// ownCaches builds on each machine with a separate, empty disk cache. So all actions run, and Bazel
// writes the actions' digests to its logs, which it does only if there is a cache.
func ownCaches(t testing.TB, machines ...*machine) []outcome {
	t.Helper()
	var outcomes []outcome
	for _, m := range machines {
		outcomes = append(outcomes, m.must("--disk_cache="+filepath.Join(t.TempDir(), "disk")))
	}
	return outcomes
}

// actionID identifies an action in a log in the same way on all machines.
type actionID struct{ mnemonic, label, output string }

// actionDigests returns the digests of rules_btf's actions in a log, all of which must have run.
func actionDigests(t testing.TB, log *execlog.Log) map[actionID]string {
	t.Helper()
	out := map[actionID]string{}
	for _, s := range log.Spawns {
		if !strings.HasPrefix(s.Mnemonic, "Btf") {
			continue
		}
		id := actionID{s.Mnemonic, s.Label, s.Outputs[0].Path}
		if s.CacheHit || s.Digest == "" || out[id] != "" {
			t.Errorf("%v: the action is a hit, has no digest, or is in the log twice", id)
		}
		out[id] = s.Digest
	}
	return out
}

// sameActions fails the test unless two builds, in which all actions ran, have the same actions of
// rules_btf. It compares the actions' digests, and also uses btfrepro.
func sameActions(t testing.TB, what string, a, b outcome) {
	t.Helper()
	logA, logB := openLog(t, a.log), openLog(t, b.log)
	digestsA, digestsB := actionDigests(t, logA), actionDigests(t, logB)
	same := 0
	for id, digest := range digestsA {
		if digestsB[id] != digest {
			t.Errorf("%s: %v has the digest %s on one machine and %q on the other", what, id, digest,
				digestsB[id])
			continue
		}
		same++
	}
	if same == 0 || len(digestsB) != len(digestsA) {
		t.Errorf("%s: %d of %d and %d actions are the same", what, same, len(digestsA), len(digestsB))
	}
	report := must.Get(repro.Compare(logA, logB, repro.Options{}))(t)
	for i := range report.Actions {
		act := &report.Actions[i]
		if strings.HasPrefix(act.Mnemonic, "Btf") &&
			(act.Verdict != repro.Same || act.Cached != [2]bool{}) {
			t.Errorf("%s: btfrepro says of %s %s: %s, from a cache: %v", what, act.Mnemonic, act.Label,
				act.Verdict, act.Cached)
		}
	}
	fmt.Printf("\n%s on two machines without a shared cache: %d actions have the same digest\n",
		what, same)
}

func openLog(t testing.TB, path string) *execlog.Log {
	t.Helper()
	log := must.Get(execlog.ReadFile(path))(t)
	return log
}
