package scale

import (
	"cmp"
	"slices"
)

// Edit is a change of sources, after which a build runs what is not in the cache.
type Edit struct {
	Name    string
	Changes string                          // what that is, for a table
	Runs    func(b *Build) map[*Action]bool // nil: all actions
	Kbuild  func(k *Kernel) KbuildWork
}

// KbuildWork is which BTF Kbuild makes again. Each link of vmlinux is followed by pahole on all of
// vmlinux, and then by pahole on every module, whose BTF stands on vmlinux's
// (scripts/link-vmlinux.sh; scripts/Makefile.modfinal: "Re-generate module BTFs if either module's
// .ko or vmlinux changed").
type KbuildWork struct {
	Vmlinux bool
	Modules []Linked
}

// Edits are the edits of the report.
var Edits = []Edit{
	{"cold", "everything is built for the first time", nil, whole},
	{"header of all", "a struct that every source has gets a member: all BTF differs", nil, whole},
	{"type in vmlinux", "a struct in one of vmlinux's sources gets a member", typeInVmlinux, whole},
	{"body in vmlinux", "a function's body in one of vmlinux's sources", bodyInVmlinux, whole},
	{"a module", "one of a module's sources", inModule, oneModule},
}

func whole(k *Kernel) KbuildWork { return KbuildWork{true, k.Modules} }

func oneModule(k *Kernel) KbuildWork {
	return KbuildWork{Modules: []Linked{median(k.Modules, func(l Linked) int64 { return l.Bytes })}}
}

// median is the one in the middle by size.
func median[T any](list []T, size func(T) int64) T {
	sorted := slices.SortedStableFunc(slices.Values(list), func(a, b T) int {
		return cmp.Compare(size(a), size(b))
	})
	return sorted[len(sorted)/2]
}

// after are the actions that read one of files, and those that read their outputs, up to kinds
// whose output does not change.
func (b *Build) after(same map[string]bool, files ...*File) map[*Action]bool {
	changed, runs := map[*File]bool{}, map[*Action]bool{}
	for _, f := range files {
		changed[f] = true
	}
	for _, a := range b.Actions {
		for _, f := range a.Inputs {
			if changed[f] {
				runs[a] = true
				if !same[a.Kind] {
					changed[a.Output] = true
				}
				break
			}
		}
	}
	return runs
}

// A body's edit reaches no type and no fact: the BTF object and the facts are as before.
var sameTypes = map[string]bool{Gen: true, Facts: true}

// A type's edit reaches no fact.
var sameFacts = map[string]bool{Facts: true}

// object is the object of vmlinux that the edits are of.
func (b *Build) object() *File {
	return b.sources[median(b.kernel.Objects, func(o Object) int64 { return o.Bytes }).Path]
}

func bodyInVmlinux(b *Build) map[*Action]bool {
	return b.after(sameTypes, b.object(), b.sources["vmlinux"])
}

func typeInVmlinux(b *Build) map[*Action]bool {
	return b.after(sameFacts, b.object(), b.sources["vmlinux"])
}

func inModule(b *Build) map[*Action]bool {
	return b.after(nil, b.sources[oneModule(b.kernel).Modules[0].Path])
}

// After simulates a build after an edit.
func (b *Build) After(e *Edit, executors Executors) Result {
	if e.Runs == nil {
		return b.Simulate(executors, func(*Action) bool { return true })
	}
	runs := e.Runs(b)
	return b.Simulate(executors, func(a *Action) bool { return runs[a] })
}

// KbuildResult is what Kbuild takes for the same work on one machine with as many cores as there
// are executors: pahole on vmlinux alone, and then its script on the modules. The link of vmlinux
// comes before, and nothing else of BTF. No real schedule is as good: the work of all modules is
// divided evenly by the cores, and that of vmlinux and of one module by up to paholeThreads.
func (e *Edit) KbuildResult(m *Model, k *Kernel, cores int) Result {
	work := e.Kbuild(k)
	threads := float64(min(cores, paholeThreads))
	var r Result
	if work.Vmlinux {
		cost := m.Costs[Pahole]
		r.Actions, r.CPU, r.Memory = 1, cost.CPU.At(k.Vmlinux, 1), cost.Memory.At(k.Vmlinux, 1)
		r.Critical = r.CPU / threads
	}
	var all, largest float64
	for _, l := range work.Modules {
		cost := m.Costs[PaholeModule]
		seconds := cost.CPU.At(l.Bytes, 1)
		all, largest = all+seconds, max(largest, seconds)
		r.Memory = max(r.Memory, cost.Memory.At(l.Bytes, 1))
	}
	r.Wall = r.Critical + max(all/float64(cores), largest/threads)
	r.Critical += largest / threads
	r.Actions, r.CPU = r.Actions+len(work.Modules), r.CPU+all
	return r
}

// paholeThreads is how many cores pahole's work on a file is divided by. Its deduplication has one
// thread, and so have objcopy and resolve_btfids, so this is in Kbuild's favour.
const paholeThreads = 4
