package scale

import (
	"fmt"
	"math"
	"reflect"
	"testing"
)

// second is a model in which each action takes a second, and more for each MB, and writes a
// hundredth of what it reads.
func second(perMB float64) *Model {
	m := &Model{Costs: map[string]Cost{}, Sizes: Sizes{
		Objects: []int64{1e6, 2e6, 3e6}, Directories: []int{1, 8, 40}, Vmlinux: 1,
		Modules: []Module{{1e6, 3}, {4e6, 4}, {80e6, 40}}, Distribution: 60,
		ModuleDirectories: []int{1, 1, 2, 12}, Tools: 1e6,
	}}
	for _, name := range Names {
		m.Costs[name] = Cost{
			CPU: Line{Base: 1, PerMB: perMB}, Out: Power{Factor: 0.01, Exponent: 1}, Samples: 1,
		}
	}
	return m
}

func all(*Action) bool { return true }

// TestSimulate has graphs whose times are known.
func TestSimulate(t *testing.T) {
	source := func(name string) *File { return &File{Name: name, Bytes: 1e6} }
	flat := func(n int) *Graph { // n actions side by side
		g := NewGraph(second(0))
		for i := range n {
			g.add(Gen, text(i), source("o"+text(i)))
		}
		return g
	}
	chain := func(n int) *Graph { // one after the other
		g := NewGraph(second(0))
		f := source("o")
		for i := range n {
			f = g.add(Merge, text(i), f)
		}
		return g
	}
	for _, c := range []struct {
		name           string
		graph          *Graph
		on             Executors
		wall, critical float64
		moved          int64
	}{
		{"10 on 1", flat(10), Executors{Count: 1}, 10, 1, 0},
		{"10 on 3", flat(10), Executors{Count: 3}, 4, 1, 0},
		{"10 on 100", flat(10), Executors{Count: 100}, 1, 1, 0},
		{"a chain on 100", chain(5), Executors{Count: 100}, 5, 5, 0},
		{"overhead", flat(10), Executors{Count: 5, Overhead: 0.5}, 3, 1.5, 0},
		{"a slow client", flat(10), Executors{Count: 100, Client: 2}, 21, 1, 0},
		// The object, its BTF and the tool, which is copied once to an executor.
		{"copies", flat(2), Executors{Count: 1, Bandwidth: 1e6}, 2 + 3.02, 1 + 1.01, 3_020_000},
		{"copies to each", flat(2), Executors{Count: 2, Bandwidth: 1e6}, 3.01, 1 + 1.01, 4_020_000},
	} {
		r := c.graph.Simulate(c.on, all)
		if math.Abs(r.Wall-c.wall) > 1e-9 || math.Abs(r.Critical-c.critical) > 1e-9 ||
			r.Moved != c.moved || r.Actions != len(c.graph.Actions) {
			t.Errorf("%s: %+v, want wall %v, critical path %v, %d bytes", c.name, r, c.wall, c.critical,
				c.moved)
		}
	}
}

// TestBounds: no schedule beats the critical path or the sum of the work, or is slower than doing
// one after the other; and a schedule without copies is at most the sum of both bounds (Graham).
func TestBounds(t *testing.T) {
	m := second(0.25)
	b := NewBuild(m, AllModConfig(m, 3000, 90), Grain{1, 8})
	for _, n := range []int{1, 2, 3, 10, 100, 10000} {
		slow := Executors{Count: n, Overhead: 0.1, Client: 0.01, Bandwidth: 1e7}
		if r := b.Simulate(slow, all); r.Wall < max(r.Critical, 0.01*float64(r.Actions)) {
			t.Errorf("%d slow executors: %+v", n, r)
		}
		r := b.Simulate(Executors{Count: n}, all)
		least := max(r.Critical, r.CPU/float64(n))
		if r.Wall < least-1e-6 || r.Wall > r.Critical+r.CPU/float64(n)+1e-6 || r.Wall > r.CPU+1e-6 {
			t.Errorf("%d executors: %+v", n, r)
		}
		again := NewBuild(m, AllModConfig(m, 3000, 90), Grain{1, 8}).Simulate(Executors{Count: n}, all)
		if again != r {
			t.Errorf("%d executors: %+v, and again %+v", n, r, again)
		}
	}
}

// TestMergeTree: every object reaches the link once, whatever the number; no merge has many
// more than fanIn inputs; a new object changes few merges.
func TestMergeTree(t *testing.T) {
	m := second(0)
	merges := func(n int) map[string]string {
		g := NewGraph(m)
		objects := laid{}
		for i := range n {
			p := fmt.Sprintf("drivers/%c/o%d.o", 'a'+i%3, i)
			objects[p] = &File{Name: p, Bytes: 1}
		}
		found, seen := map[string]string{}, map[*File]int{}
		var walk func(f *File)
		walk = func(f *File) {
			if f.By == nil {
				seen[f]++
				return
			}
			names := ""
			for _, in := range f.By.Inputs {
				if in != g.tool {
					walk(in)
					names += in.Name + " "
				}
			}
			found[f.Name] = names
			if len(f.By.Inputs)-1 > 2*fanIn { // a bucket has fanIn on average
				t.Errorf("%d objects: %s has %d inputs", n, f.Name, len(f.By.Inputs)-1)
			}
		}
		files := g.mergeTree(objects, "merge.d", false)
		for _, f := range files {
			walk(f)
		}
		if len(files) > fanIn || len(seen) != n || len(found) != len(g.Actions) {
			t.Errorf("%d objects: %d files, %d objects in them, %d of %d merges", n, len(files), len(seen),
				len(found), len(g.Actions))
		}
		for f, times := range seen {
			if times != 1 {
				t.Errorf("%d objects: %s is there %d times", n, f.Name, times)
			}
		}
		return found
	}
	for _, n := range []int{1, 7, 8, 32, 33, 100, 1000, 5000} {
		before, after := merges(n), merges(n+1)
		changed := 0
		for name, inputs := range after {
			if before[name] != inputs {
				changed++
			}
		}
		if n == 1000 && changed > 3 {
			t.Errorf("object %d changes %d merges", n+1, changed)
		}
	}
}

// TestHash has known values of Java's String.hashCode, which Bazel's hash() is.
func TestHash(t *testing.T) {
	for s, want := range map[string]int32{
		"": 0, "hello": 99162322, "polygenelubricants": math.MinInt32,
	} {
		if got := hash(s); got != want {
			t.Errorf("hash(%q) = %d, want %d", s, got, want)
		}
	}
}

// TestEdits wants the actions that run after each edit, by kind.
func TestEdits(t *testing.T) {
	m := second(0)
	k := AllModConfig(m, 2000, 30)
	b := NewBuild(m, k, Grain{1, 8})
	groups := 0
	for _, a := range b.Actions {
		if a.Kind == Modules {
			groups++
		}
	}
	if groups < 2 || groups > 15 {
		t.Errorf("%d groups of 30 modules", groups)
	}
	for name, want := range map[string]map[string]int{
		"body in vmlinux": {Gen: 1, Facts: 1},
		"a module":        {Modules: 1},
		"type in vmlinux": {Gen: 1, Facts: 1, Link: 1, Index: 1, Modules: groups, Merge: 3},
	} {
		got := map[string]int{}
		for i := range Edits {
			if Edits[i].Name == name {
				for a := range Edits[i].Runs(b) {
					got[a.Kind]++
				}
				if r := b.After(&Edits[i], Executors{Count: 2}); r.Actions != sum(got) {
					t.Errorf("%s: %d actions, want %d", name, r.Actions, sum(got))
				}
			}
		}
		if got[Merge] > want[Merge] {
			t.Errorf("%s: %d merges, want %d at most", name, got[Merge], want[Merge])
		}
		delete(got, Merge)
		delete(want, Merge)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// TestKbuild has bounds of Kbuild's time: 31 seconds of work, of which a file's is divided by four.
func TestKbuild(t *testing.T) {
	m := second(0)
	k := AllModConfig(m, 2000, 30)
	for i := range Edits {
		e := &Edits[i]
		for cores, want := range map[int]float64{1: 31, 2: 15.5, 10: 3.25, 1000: 0.5} {
			if e.Name == "a module" {
				want = 1 / float64(min(cores, 4))
			}
			if r := e.KbuildResult(m, k, cores); math.Abs(r.Wall-want) > 1e-9 {
				t.Errorf("%s, %d cores: %+v, want wall %v", e.Name, cores, r, want)
			}
		}
	}
}

// TestGrain: several files in an action make fewer actions, in which each file is once.
func TestGrain(t *testing.T) {
	m := second(1)
	k := AllModConfig(m, 2000, 90)
	count := func(grain Grain) (actions, files map[string]int) {
		actions, files = map[string]int{}, map[string]int{}
		for _, a := range NewBuild(m, k, grain).Actions {
			if a.Kind != Gen && a.Kind != Modules {
				continue
			}
			actions[a.Kind]++
			for _, f := range a.Inputs {
				if f.By == nil && f.Name != "tool" {
					files[f.Name]++
				}
			}
		}
		return actions, files
	}
	one, once := count(Grain{1, 1})
	if one[Gen] != len(k.Objects) || one[Modules] != 90 || len(once) != len(k.Objects)+90 {
		t.Errorf("grain 1: %v actions, %d files", one, len(once))
	}
	some, same := count(Grain{8, 8})
	if some[Gen] >= one[Gen]/3 || some[Modules] >= 90/3 || !reflect.DeepEqual(once, same) {
		t.Errorf("grain 8: %v actions, %d files; grain 1: %v, %d", some, len(same), one, len(once))
	}
}

// TestGroups has the numbers of groups of rules/tests/grain_test.bzl and module_grain_test.bzl.
func TestGroups(t *testing.T) {
	many := laid{}
	add := func(format string, directories, files int) {
		for d := range directories {
			for i := range files {
				many[fmt.Sprintf(format, d, i)] = &File{}
			}
		}
	}
	add("rules/tests/grain/drivers/d%d/f%d.o", 2, 50)
	add("rules/tests/grain/drivers/few%d/g%d.o", 4, 3)
	if groups := groupsOf(many, 16); len(groups) != 9 {
		t.Errorf("%d groups of objects", len(groups))
	}
	many = laid{}
	add("rules/tests/many/d%d/d%[1]dm%[2]d.ko", 2, 12)
	add("rules/tests/many/few%d/f%[1]d.ko", 3, 1)
	if groups := groupsOf(many, 8); len(groups) != 5 {
		t.Errorf("%d groups of modules", len(groups))
	}
}

// TestAllModConfig wants as many files as were asked for.
func TestAllModConfig(t *testing.T) {
	m := second(0)
	k := AllModConfig(m, 3000, 90)
	if k.Count() != 3000 || len(k.Modules) != 90 {
		t.Errorf("%d objects, %d modules", k.Count(), len(k.Modules))
	}
	seen := map[string]bool{}
	sources := 0
	for _, l := range k.Modules {
		k.Objects, sources = append(k.Objects, l.Object), sources+l.Sources
	}
	for _, o := range k.Objects {
		if seen[o.Path] {
			t.Errorf("two files %s", o.Path)
		}
		seen[o.Path] = true
	}
	// A third of 60 has 38 sources, another one 2; the rest is single.
	if want := 20*(38+2+1) + 30; sources != want {
		t.Errorf("the modules have %d sources, want %d", sources, want)
	}
}

// TestFit finds the coefficients of exact samples, and none below 0.
func TestFit(t *testing.T) {
	var samples []Sample
	for i := 1; i < 50; i++ {
		in, n := int64(i*i)*1e5, i%7+1
		samples = append(samples, Sample{In: in, Out: 2520 * in / int64(n), Inputs: n, Memory: 5e6 + 2*in,
			CPU: 0.004 + 0.02*float64(in)/1e6 + 0.001*float64(n-1)})
	}
	c := Fit(samples, true)
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Abs(b) }
	if !near(c.CPU.Base, 0.004) || !near(c.CPU.PerMB, 0.02) || !near(c.CPU.PerInput, 0.001) ||
		!near(c.Memory.Base, 5e6) || !near(c.Memory.PerMB, 2e6) || !near(c.Out.Factor, 2520) ||
		!near(c.Out.Exponent, 1) || !near(c.Out.Files, -1) || c.Median > 1e-6 || math.Abs(c.Sum) > 1e-6 {
		t.Errorf("%+v", c)
	}
	falling := []Sample{{In: 1e6, Out: 1, CPU: 2, Memory: 1}, {In: 2e6, Out: 1, CPU: 1, Memory: 1}}
	if c := Fit(falling, false); c.CPU.PerMB != 0 || c.CPU.Base <= 0 {
		t.Errorf("%+v", c)
	}
	if c := Fit(nil, true); c.Samples != 0 || c.CPU != (Line{}) {
		t.Errorf("%+v", c)
	}
}
