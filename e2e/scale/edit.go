package scale

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
	{"type in a module", "a struct in one of a module's sources gets a member", typeInModule, oneModule},
	{"body in a module", "a function's body in one of a module's sources", bodyInModule, oneModule},
}

func whole(k *Kernel) KbuildWork { return KbuildWork{true, k.Modules} }

func oneModule(k *Kernel) KbuildWork {
	return KbuildWork{Modules: k.Modules[typical(len(k.Modules)):][:1]}
}

// typical is the place of the median in what is sorted by size.
func typical(n int) int { return n / 2 }

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

// The object of vmlinux and the module that the edits are of.
func (b *Build) edited() (object, moduleObject, ko *File) {
	var gens []*File // of vmlinux, before those of modules
	for _, a := range b.Actions {
		if a.Kind == Link {
			break
		}
		if a.Kind == Gen {
			gens = append(gens, a.Inputs[0])
		}
	}
	embed := b.modules[typical(len(b.modules))].By
	ko = embed.Inputs[0]
	link := embed.Inputs[1].By
	root := link.Inputs[0]
	for root.By.Kind == Merge {
		root = root.By.Inputs[0]
	}
	return gens[typical(len(gens))], root.By.Inputs[0], ko
}

// A body's edit reaches no type and no fact: the BTF object and the facts are as before.
var sameTypes = map[string]bool{Gen: true, Facts: true, KernelFacts: true}

// A type's edit reaches no fact.
var sameFacts = map[string]bool{Facts: true, KernelFacts: true}

func bodyInVmlinux(b *Build) map[*Action]bool {
	object, _, _ := b.edited()
	return b.after(sameTypes, object, b.sources["vmlinux"])
}

func typeInVmlinux(b *Build) map[*Action]bool {
	object, _, _ := b.edited()
	return b.after(sameFacts, object, b.sources["vmlinux"])
}

func bodyInModule(b *Build) map[*Action]bool {
	_, object, ko := b.edited()
	return b.after(sameTypes, object, ko)
}

func typeInModule(b *Build) map[*Action]bool {
	_, object, ko := b.edited()
	return b.after(sameFacts, object, ko)
}

// After simulates a build after an edit.
func (b *Build) After(e *Edit, executors Executors) Result {
	if e.Runs == nil {
		return b.Simulate(executors, func(*Action) bool { return true })
	}
	runs := e.Runs(b)
	return b.Simulate(executors, func(a *Action) bool { return runs[a] })
}

// Kbuild is what pahole takes for the same work on one machine with as many cores as there are
// executors: pahole on vmlinux alone, as if it could use paholeThreads cores in full, and then one
// pahole a core on the modules. The link of vmlinux comes before, and nothing else of BTF.
func (e *Edit) KbuildResult(m *Model, k *Kernel, cores int) Result {
	work := e.Kbuild(k)
	var r Result
	if work.Vmlinux {
		seconds := m.Costs[Pahole].CPU.At(k.Vmlinux, 1)
		r.Actions, r.CPU = 1, seconds
		r.Critical = seconds / float64(min(cores, paholeThreads))
		r.Memory = m.Costs[Pahole].Memory.At(k.Vmlinux, 1)
	}
	g := NewGraph(m)
	for i := range work.Modules {
		l := &work.Modules[i]
		g.add(PaholeModule, l.Name, &File{Name: l.Name, Bytes: l.Bytes})
	}
	modules := g.Simulate(Executors{Count: cores}, func(*Action) bool { return true })
	r.Wall = r.Critical + modules.Wall
	r.Critical += modules.Critical
	r.Actions, r.CPU = r.Actions+modules.Actions, r.CPU+modules.CPU
	r.Memory = max(r.Memory, modules.Memory)
	return r
}

// paholeThreads is how many cores pahole's work on vmlinux is divided by. Its deduplication has one
// thread, so this is in its favour.
const paholeThreads = 4
