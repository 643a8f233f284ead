package scale

import "strconv"

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
	a := &Action{Kind: kind, Inputs: append(inputs, g.tool), order: len(g.Actions)}
	var bytes int64
	for _, f := range inputs {
		f.users++
		bytes += f.Bytes
	}
	g.tool.users++
	cost, measured := g.model.Costs[kind], bytes
	if kind == SplitLink || kind == Embed { // what depends on the base or the BTF is small
		measured = inputs[0].Bytes
	}
	a.Seconds = cost.CPU.At(measured, len(inputs))
	a.Memory = cost.Memory.At(measured, len(inputs))
	a.Output = &File{Name: output, Bytes: min(cost.Out.At(measured), mostOut(kind, bytes)), By: a}
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
