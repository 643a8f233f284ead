package repro

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/repro/execlog"
	"github.com/rules-btf/rules_btf/internal/repro/execlog/execlogtest"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// build makes one side of a case: side B if b is set, else side A.
type build func(l *execlogtest.Builder, b bool)

// pick returns x in A and y in B.
func pick[T any](b bool, x, y T) T {
	if b {
		return y
	}
	return x
}

const bin = "bazel-out/k8-fastbuild/bin/"

// action adds an action with one output, which has the name of the action.
func action(l *execlogtest.Builder, name, content string, s execlogtest.Spawn,
	inputs ...uint32) uint32 {
	out := l.File(bin+name, content)
	s.Label, s.Mnemonic = "//:"+name, "M"
	if len(inputs) > 0 {
		s.Inputs = l.Set(inputs...)
	}
	l.Spawn(s, out)
	return out
}

// text returns a report as lines: the actions that differ, with their changes, and the causes.
func text(r *Report) string {
	var lines []string
	for i := range r.Actions {
		act := &r.Actions[i]
		if act.Verdict == Same {
			continue
		}
		line := fmt.Sprintf("%s: %s", act.Label, act.Verdict)
		for _, ch := range act.Changes {
			line += fmt.Sprintf(" [%s %s]", ch.Kind, ch.Name)
		}
		if act.Failed != "" {
			line += " failed: " + act.Failed
		}
		for _, n := range act.Causes {
			line += fmt.Sprintf(" #%d", n)
		}
		lines = append(lines, line)
	}
	for n, c := range r.Causes {
		lines = append(lines, fmt.Sprintf("#%d %s: %s %d %d", n, c.Kind, c.Text, c.Direct, c.Downstream))
	}
	return strings.Join(lines, "\n")
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name  string
		build build
		want  string
	}{
		{"same", func(l *execlogtest.Builder, b bool) {
			action(l, "x", "1", execlogtest.Spawn{}, l.File("s", "1"))
		}, ""},
		{"non-deterministic, and two actions downstream", func(l *execlogtest.Builder, b bool) {
			x := action(l, "x", pick(b, "1", "2"), execlogtest.Spawn{})
			y := action(l, "y", pick(b, "3", "4"), execlogtest.Spawn{}, x)
			action(l, "z", pick(b, "5", "6"), execlogtest.Spawn{}, y)
		}, `//:x: non-deterministic #0
//:y: downstream [input bazel-out/k8-fastbuild/bin/x] #0
//:z: downstream [input bazel-out/k8-fastbuild/bin/y] #0
#0 non-deterministic: M //:x bazel-out/k8-fastbuild/bin/x 1 2`},
		{"a cut-off ends the chain", func(l *execlogtest.Builder, b bool) {
			x := action(l, "x", "same", execlogtest.Spawn{}, l.File("s", pick(b, "1", "2")))
			action(l, "y", "3", execlogtest.Spawn{}, x)
		}, `//:x: cut-off [input s] #0
#0 input: source file s 1 0`},
		{"the same change in two actions is one cause", func(l *execlogtest.Builder, b bool) {
			for _, name := range []string{"x", "y"} {
				args := []string{"cc", pick(b, "-O1", "-O2")}
				action(l, name, pick(b, "1", "2"), execlogtest.Spawn{Args: args})
			}
		}, `//:x: key changed [argument ] #0
//:y: key changed [argument ] #0
#0 argument: -O1 vs -O2 2 0`},
		{"added variable, different platform and timeout", func(l *execlogtest.Builder, b bool) {
			action(l, "x", "1", execlogtest.Spawn{
				Env:           pick(b, nil, []execlog.Pair{{Name: "E", Value: "1"}}),
				Platform:      []execlog.Pair{{Name: "os", Value: pick(b, "linux", "other")}},
				TimeoutMillis: pick[int64](b, 0, 1000)})
		}, `//:x: cut-off [environment E] [platform os] [timeout ] #0 #1 #2
#0 environment: E: nothing vs 1 1 0
#1 platform: os: linux vs other 1 0
#2 timeout: 0 ms vs 1000 ms 1 0`},
		{"a tool that an action makes", func(l *execlogtest.Builder, b bool) {
			args := []string{pick(b, "-a", "-b")}
			link := action(l, "tool", pick(b, "1", "2"), execlogtest.Spawn{Args: args})
			tools := l.Set(link)
			out := l.File(bin+"x", pick(b, "3", "4"))
			l.Spawn(execlogtest.Spawn{Label: "//:x", Mnemonic: "M", Tools: tools,
				Inputs: l.Union([]uint32{tools})}, out)
		}, `//:tool: key changed [argument ] #0
//:x: downstream [tool bazel-out/k8-fastbuild/bin/tool] #0
#0 argument: -a vs -b 1 1`},
		{"inputs that come and go", func(l *execlogtest.Builder, b bool) {
			action(l, "x", pick(b, "1", "2"), execlogtest.Spawn{}, l.File(pick(b, "old", "new"), "1"))
		}, `//:x: key changed [input new] [input old] #0 #1
#0 input: source file new (only in B) 1 0
#1 input: source file old (only in A) 1 0`},
		{"a link to a source file, and to a link", func(l *execlogtest.Builder, b bool) {
			l.Symlink("external/r/s", bin+"l1")
			l.Symlink(bin+"l1", bin+"l2")
			action(l, "x", pick(b, "1", "2"), execlogtest.Spawn{}, l.File(bin+"l2", pick(b, "1", "2")))
		}, `//:x: key changed [input bazel-out/k8-fastbuild/bin/l2] #0
#0 input: external file external/r/s 1 0`},
		{"a link to itself", func(l *execlogtest.Builder, b bool) {
			l.Symlink(bin+"l1", bin+"l2")
			l.Symlink(bin+"l2", bin+"l1")
			action(l, "x", pick(b, "1", "2"), execlogtest.Spawn{}, l.File(bin+"l2", pick(b, "1", "2")))
		}, `//:x: key changed [input bazel-out/k8-fastbuild/bin/l2] #0
#0 input: generated file bazel-out/k8-fastbuild/bin/l2 1 0`},
		{"a param file", func(l *execlogtest.Builder, b bool) {
			args := []string{"cc", "--list=@" + bin + "p.params"}
			action(l, "x", pick(b, "1", "2"), execlogtest.Spawn{Args: args},
				l.File(bin+"p.params", pick(b, "1", "2")))
		}, `//:x: key changed [param file bazel-out/k8-fastbuild/bin/p.params] #0
#0 param file: generated file bazel-out/k8-fastbuild/bin/p.params 1 0`},
		{"only in one", func(l *execlogtest.Builder, b bool) {
			action(l, pick(b, "x", "y"), "1", execlogtest.Spawn{})
		}, "//:x: only in A\n//:y: only in B"},
		{"a different name of the output", func(l *execlogtest.Builder, b bool) {
			l.Spawn(execlogtest.Spawn{Label: "//:x", Mnemonic: "M"}, l.File(bin+pick(b, "x1", "x2"), "1"))
		}, `//:x: key changed [declared outputs bazel-out/k8-fastbuild/bin/x1] ` +
			`[declared outputs bazel-out/k8-fastbuild/bin/x2] #0 #1
#0 declared outputs: bazel-out/k8-fastbuild/bin/x1 1 0
#1 declared outputs: bazel-out/k8-fastbuild/bin/x2 1 0`},
		{"missing output", func(l *execlogtest.Builder, b bool) {
			s := execlogtest.Spawn{Label: "//:x", Mnemonic: "M", ExitCode: pick[int32](b, 0, 2)}
			l.Spawn(s, pick[any](b, l.File(bin+"x", "1"), bin+"x"))
		}, `//:x: non-deterministic failed: A: success; B: failed, exit code 2 #0
#0 non-deterministic: M //:x bazel-out/k8-fastbuild/bin/x 1 0`},
		{"fails in both, different key", func(l *execlogtest.Builder, b bool) {
			l.Spawn(execlogtest.Spawn{Label: "//:x", Mnemonic: "M", ExitCode: 2, Status: "NON_ZERO_EXIT",
				Args: []string{pick(b, "1", "2")}}, bin+"x")
		}, `//:x: key changed [argument ] failed: NON_ZERO_EXIT, exit code 2 #0
#0 argument: 1 vs 2 1 0`},
		{"only the digest of the action differs", func(l *execlogtest.Builder, b bool) {
			action(l, "x", "1", execlogtest.Spawn{Digest: execlogtest.DigestOf(pick(b, "1", "2"))})
		}, fmt.Sprintf(`//:x: cut-off [unlogged ] #0
#0 unlogged: %s (1 bytes) vs %s (1 bytes) 1 0`, execlogtest.DigestOf("1").Hash,
			execlogtest.DigestOf("2").Hash)},
		{"files in runfiles", func(l *execlogtest.Builder, b bool) {
			lib := l.File("lib", pick(b, "1", "2"))
			action(l, "x", pick(b, "1", "2"), execlogtest.Spawn{}, l.Runfiles("t.runfiles", l.Set(lib), nil))
		}, `//:x: key changed [input lib] #0
#0 input: source file lib 1 0`},
		{"one file of a directory that an action makes", func(l *execlogtest.Builder, b bool) {
			l.Spawn(execlogtest.Spawn{Label: "//:d", Mnemonic: "M"},
				l.Directory(bin+"d", "f", pick(b, "1", "2"), "g", "3"))
			action(l, "x", pick(b, "1", "2"), execlogtest.Spawn{}, l.File(bin+"d/f", pick(b, "1", "2")))
		}, `//:d: non-deterministic #0
//:x: downstream [input bazel-out/k8-fastbuild/bin/d/f] #0
#0 non-deterministic: M //:d bazel-out/k8-fastbuild/bin/d 1 1`},
		{"an absolute path is one cause", func(l *execlogtest.Builder, b bool) {
			for _, name := range []string{"x", "y"} {
				action(l, name, pick(b, "1", "2"), execlogtest.Spawn{Args: []string{
					"-I" + pick(b, "/home/a/.cache/bazel", "/ci") + "/execroot/_main/" + name}})
			}
		}, `//:x: key changed [argument ] #0
//:y: key changed [argument ] #0
#0 argument: absolute path /home/a/.cache/bazel vs /ci 2 0`},
		{"a second attempt of a test", func(l *execlogtest.Builder, b bool) {
			for attempt := range pick(b, 1, 2) {
				action(l, "t", pick(attempt == 0 && b, "passed", "failed"), execlogtest.Spawn{})
			}
		}, `//:t: only in B`},
		{"two causes", func(l *execlogtest.Builder, b bool) {
			x := action(l, "x", pick(b, "1", "2"), execlogtest.Spawn{})
			y := action(l, "y", pick(b, "1", "2"), execlogtest.Spawn{}, l.File("s", pick(b, "1", "2")))
			action(l, "z", pick(b, "1", "2"), execlogtest.Spawn{}, x, y, l.File("s", pick(b, "1", "2")))
		}, `//:x: non-deterministic #1
//:y: key changed [input s] #0
//:z: key changed [input bazel-out/k8-fastbuild/bin/x] [input bazel-out/k8-fastbuild/bin/y]` +
			` [input s] #0 #1
#0 input: source file s 2 0
#1 non-deterministic: M //:x bazel-out/k8-fastbuild/bin/x 1 1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compare(t, c.build, Options{})
			if got := text(r); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
			if differs(r) != (c.want != "") {
				t.Errorf("differs: %v", differs(r))
			}
		})
	}
}

func differs(r *Report) bool {
	n, _ := r.Differing()
	return n > 0
}

func compare(t *testing.T, build build, opt Options) *Report {
	t.Helper()
	var logs [2]*execlog.Log
	for i := range logs {
		l := execlogtest.New()
		build(l, i == 1)
		logs[i] = l.Log(t)
	}
	r := must.Get(Compare(logs[0], logs[1], opt))(t)
	return r
}

// TestMapped pairs actions by their keys, because their paths don't show the configuration.
func TestMapped(t *testing.T) {
	r := compare(t, func(l *execlogtest.Builder, b bool) {
		for i := range 10 {
			n := pick(b, i, 9-i) // in a different order
			content := fmt.Sprint(n)
			if n == 3 {
				content += pick(b, "x", "y")
			}
			l.Spawn(execlogtest.Spawn{Label: "//:x", Mnemonic: "M", Args: []string{fmt.Sprint("-", n)}},
				l.File("bazel-out/cfg/bin/x", content))
		}
	}, Options{})
	if r.Counts[Same] != 9 || r.Counts[NonDeterministic] != 1 {
		t.Errorf("%v", r.Counts)
	}
}

// TestOrder compares logs whose entries are in different orders.
func TestOrder(t *testing.T) {
	var logs [3]*execlog.Log
	for i := range logs {
		logs[i] = execlogtest.Large(1000, execlogtest.Edits{Order: uint64(i / 2), Flag: "-x"}).Log(t)
	}
	for _, other := range logs[1:] {
		r, err := Compare(logs[0], other, Options{})
		if err != nil || differs(r) || r.Counts[Same] != 1000 {
			t.Errorf("%v, %v", err, r.Counts)
		}
	}
}

// planted reads the logs of real builds that e2e/repro made.
func planted(t testing.TB) (a, b *execlog.Log) {
	t.Helper()
	a, err := execlog.ReadFile(filepath.Join("testdata", "planted_a.log"))
	must.OK(t, err)
	if b, err = execlog.ReadFile(filepath.Join("testdata", "planted_b.log")); err != nil {
		t.Fatal(err)
	}
	return a, b
}

// TestPlanted counts the verdicts on logs of real builds; e2e/repro has the details.
func TestPlanted(t *testing.T) {
	a, b := planted(t)
	r := must.Get(Compare(a, b, Options{}))(t)
	want := map[Verdict]int{NonDeterministic: 2, KeyChanged: 11, Downstream: 5, CutOff: 2, Same: 2,
		OnlyA: 1, OnlyB: 1}
	if !reflect.DeepEqual(r.Counts, want) {
		t.Errorf("%v, want %v", r.Counts, want)
	}
	if _, err := Compare(a, &execlog.Log{Hash: "BLAKE3"}, Options{}); err == nil {
		t.Error("logs with different digest functions were compared")
	}
}

func TestMnemonicsAndCaches(t *testing.T) {
	r := compare(t, func(l *execlogtest.Builder, b bool) {
		x := action(l, "x", pick(b, "1", "2"), execlogtest.Spawn{})
		l.Spawn(execlogtest.Spawn{Label: "//:y", Mnemonic: "Other", Inputs: l.Set(x), CacheHit: b},
			l.File(bin+"y", "1"))
		l.Spawn(execlogtest.Spawn{Label: "//:z", Mnemonic: "Other", CacheHit: b}, l.File(bin+"z", "1"))
	}, Options{Mnemonics: []string{"Other"}})
	if want := map[Verdict]int{CutOff: 1, Same: 1}; !reflect.DeepEqual(r.Counts, want) || r.Cached != 1 {
		t.Errorf("%v, %d from a cache", r.Counts, r.Cached)
	}
	// The cause is an action that isn't reported.
	if len(r.Causes) != 1 || r.Causes[0].Kind != "non-deterministic" ||
		!slices.Equal(r.Listed, []int{1, 2}) {
		t.Errorf("causes %+v, listed %v", r.Causes, r.Listed)
	}
}
