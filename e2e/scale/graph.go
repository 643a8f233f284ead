package scale

import (
	"slices"
	"strconv"
)

// File is an input or output of actions.
type File struct {
	Name  string
	Bytes int64
	By    *Action // nil for a source: an object file, vmlinux, a module, a program
	users int     // how many actions read it
}

// Action is one run of a tool.
type Action struct {
	Kind    string // one of Names
	Inputs  []*File
	Output  *File
	Seconds float64 // of processor time
	Memory  float64 // bytes

	order int // in which it was added: inputs come first
}

// Graph is a set of actions, each after those whose output it reads.
type Graph struct {
	Actions []*Action
	model   *Model
	tool    *File
}

// NewGraph is an empty graph of actions with the costs of a model.
func NewGraph(m *Model) *Graph {
	return &Graph{model: m, tool: &File{Name: "tool", Bytes: m.Sizes.Tools}}
}

// add adds an action and returns its output.
func (g *Graph) add(kind, output string, inputs ...*File) *File {
	return g.addOn(kind, output, inputs)
}

// addOn is add of an action whose cost depends on inputs, but not on the size of what is beside
// them.
func (g *Graph) addOn(kind, output string, inputs []*File, beside ...*File) *File {
	a := &Action{Kind: kind, Inputs: slices.Concat(inputs, beside, []*File{g.tool}),
		order: len(g.Actions)}
	for _, f := range a.Inputs {
		f.users++
	}
	var bytes int64
	for _, f := range inputs {
		bytes += f.Bytes
	}
	cost := g.model.Costs[kind]
	a.Seconds = cost.CPU.At(bytes, len(inputs))
	a.Memory = cost.Memory.At(bytes, len(inputs))
	out := min(cost.Out.At(bytes, len(inputs)), mostOut(kind, bytes))
	a.Output = &File{Name: output, Bytes: out, By: a}
	g.Actions = append(g.Actions, a)
	return a.Output
}

// mostOut bounds an output: what merges write is no more than they read.
func mostOut(kind string, bytes int64) int64 {
	if kind == Merge || kind == Link {
		return bytes
	}
	return 1 << 40
}

func text(n int) string { return strconv.Itoa(n) }
