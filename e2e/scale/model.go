package scale

import (
	"encoding/json"
	"fmt"
	"math"
)

// Model is what was measured. Costs are by mnemonic, and for pahole by the names below.
type Model struct {
	Machine string          `json:"machine"`
	Costs   map[string]Cost `json:"costs"`
	Sizes   Sizes           `json:"sizes"`
}

// The actions of the rules, and the steps of Kbuild that they replace.
const (
	Gen          = "BtfGen"
	Merge        = "BtfMerge"
	Facts        = "BtfFacts"
	Link         = "BtfLink"
	Index        = "BtfBase"
	Modules      = "BtfModules"
	Pahole       = "pahole of vmlinux"
	PaholeModule = "gen-btf.sh of a module"
)

// Names are all names of costs, in the order of the data.
var Names = []string{Gen, Merge, Facts, Link, Index, Modules, Pahole, PaholeModule}

// Cost is what an action of one kind costs, as functions of the bytes that it reads.
type Cost struct {
	CPU    Line  `json:"cpu_seconds"`
	Memory Line  `json:"memory_bytes"` // largest resident set
	Out    Power `json:"output_bytes"`

	Samples int     `json:"samples"`
	Sum     float64 `json:"sum_error"`    // (predicted - measured) / measured CPU, of all samples
	Median  float64 `json:"median_error"` // of |predicted - measured| / measured, of the samples
}

// Line is Base, and more for each megabyte (1e6 bytes), and for each input file after the first.
type Line struct {
	Base     float64 `json:"base"`
	PerMB    float64 `json:"per_mb"`
	PerInput float64 `json:"per_input,omitempty"`
}

// At is the line's value for inputs of a size.
func (l Line) At(bytes int64, inputs int) float64 {
	return l.Base + l.PerMB*float64(bytes)/1e6 + l.PerInput*float64(inputs-1)
}

// Power is Factor * bytes^Exponent * files^Files. What files have in common is written once, so
// Files is negative, if anything.
type Power struct {
	Factor   float64 `json:"factor"`
	Exponent float64 `json:"exponent"`
	Files    float64 `json:"files,omitempty"`
}

// At is the size of the output for inputs of a size.
func (p Power) At(bytes int64, inputs int) int64 {
	return int64(math.Round(p.Factor * math.Pow(float64(bytes), p.Exponent) *
		math.Pow(float64(inputs), p.Files)))
}

// Sizes are of the files of measured kernels.
type Sizes struct {
	Objects     []int64  `json:"objects"`     // sizes of vmlinux's object files, sorted, a sample
	Directories []int    `json:"directories"` // numbers of objects in its directories, sorted
	Vmlinux     float64  `json:"vmlinux"`     // size of vmlinux / that of its objects
	Modules     []Module `json:"modules"`     // of a distribution, by size, a sample
	// Distribution is how many modules the distribution has, ModuleDirectories how many of them each
	// directory has, sorted, a sample.
	Distribution      int   `json:"distribution"`
	ModuleDirectories []int `json:"module_directories"`
	Tools             int64 `json:"tools"` // size of the larger one of the two programs
}

// Module is a module's size, and of how many compilation units it was linked.
type Module struct {
	Bytes int64 `json:"bytes"`
	Units int   `json:"units"`
}

// ParseModel reads a model from JSON.
func ParseModel(data []byte) (*Model, error) {
	m := new(Model)
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	for _, name := range Names {
		if m.Costs[name].Samples == 0 {
			return nil, fmt.Errorf("model: %s was not measured", name)
		}
	}
	s := &m.Sizes
	if len(s.Objects) == 0 || len(s.Directories) == 0 || len(s.Modules) == 0 ||
		len(s.ModuleDirectories) == 0 || s.Vmlinux <= 0 {
		return nil, fmt.Errorf("model: sizes of objects, directories, modules or vmlinux are missing")
	}
	return m, nil
}
