package repro

import (
	"bytes"
	"os"
	"testing"

	"github.com/rules-btf/rules_btf/internal/repro/execlog"
	"github.com/rules-btf/rules_btf/internal/repro/execlog/execlogtest"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// FuzzCompare compares any two logs. A log must equal itself, and comparing B with A must find the
// same differences as comparing A with B.
func FuzzCompare(f *testing.F) {
	read := func(name string) []byte {
		data := must.Get(os.ReadFile("testdata/" + name + ".log"))(f)
		return data
	}
	f.Add(read("planted_a"), read("planted_b"))
	f.Add(read("mapped_a"), read("mapped_b"))
	f.Add(execlogtest.Large(50, execlogtest.Edits{}).Plain(),
		execlogtest.Large(50, execlogtest.Edits{Order: 1, Header: true, Random: 5}).Plain())
	f.Fuzz(func(t *testing.T, x, y []byte) {
		a, err := execlog.Read(bytes.NewReader(x))
		if err != nil {
			return
		}
		b, err := execlog.Read(bytes.NewReader(y))
		if err != nil {
			b = a
		}
		r, err := Compare(a, b, Options{})
		if err != nil {
			return
		}
		back, err := Compare(b, a, Options{})
		if err != nil || differs(back) != differs(r) || len(back.Actions) != len(r.Actions) {
			t.Errorf("%v, %v and back %v", err, r.Counts, back.Counts)
		}
		if self, err := Compare(a, a, Options{}); err != nil || differs(self) {
			t.Errorf("a log differs from itself: %v", err)
		}
		for i := range r.Actions {
			act := &r.Actions[i]
			for _, n := range act.Causes {
				_ = r.Causes[n]
			}
			if (act.Verdict == NonDeterministic) != (len(act.Changes) == 0 && act.Spawns[0] >= 0 &&
				act.Spawns[1] >= 0 && act.Verdict != Same) {
				t.Errorf("%s: %v", act.Verdict, act.Changes)
			}
		}
	})
}
