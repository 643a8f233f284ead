package report

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Schema is the version of the statistics' format. It changes when a field is removed or changes
// its meaning, not when a field is added.
const Schema = 2

// Stats are the statistics of a run, which docs/run-statistics.md describes. Fields that don't
// apply to the verb are nil.
// Rule: --stats.
type Stats struct {
	Schema int `json:"schema"`
	Call

	Input struct {
		Files int   `json:"files"`
		Bytes int64 `json:"bytes"`
	} `json:"input"`
	Output struct {
		Bytes int64 `json:"bytes"`
	} `json:"output"`

	DWARF  *DWARF  `json:"dwarf,omitempty"`
	Facts  *Facts  `json:"facts,omitempty"`
	Shapes *Shapes `json:"shapes,omitempty"`
	Linked
	Vmlinux *Made `json:"vmlinux,omitempty"`
	Modules *Made `json:"modules,omitempty"`

	Phases  []PhaseTime `json:"phases"`
	Seconds float64     `json:"seconds"`
	Memory  Memory      `json:"memory"`
}

// Call is the command that ran.
type Call struct {
	Tool    string `json:"tool"`
	Version string `json:"version"`
	Verb    string `json:"verb"`
	Jobs    int    `json:"jobs"`
}

// Linked counts what was encoded and what was skipped; verbs that don't link set only Types.
type Linked struct {
	Conflicts *int     `json:"conflicts,omitempty"`
	Types     *Types   `json:"types,omitempty"`
	Functions *Decided `json:"functions,omitempty"`
	Variables *Decided `json:"variables,omitempty"`
}

// DWARF counts the units that were read.
type DWARF struct {
	Bytes       uint64 `json:"bytes"`
	Units       int    `json:"units"`
	Excluded    int    `json:"units_of_excluded_languages"`
	Unencodable int    `json:"units_left_out"`
	Partial     int    `json:"partial_units"`
	Types       int    `json:"type_units"`
}

// Facts counts the facts of a linked file.
type Facts struct {
	Functions int `json:"functions"`
	Variables int `json:"variables"`
	Kfuncs    int `json:"kfuncs"`
}

// Shapes counts types before they are linked.
type Shapes struct {
	Units    uint64 `json:"units"`
	Distinct int    `json:"distinct"`
	Roots    int    `json:"roots"`
	Held     uint64 `json:"held"`
	Repeats  uint64 `json:"repeats"`
}

// Types counts the types of the output, without those of its bases.
type Types struct {
	Total int            `json:"total"`
	Kinds map[string]int `json:"kinds"`
}

// Decided counts functions or variables.
type Decided struct {
	Encoded int            `json:"encoded"`
	Skipped map[string]int `json:"skipped"` // by reason
}

// PhaseTime records when a phase began, and how long it took, in seconds of wall time.
type PhaseTime struct {
	Name    string     `json:"name"`
	Start   float64    `json:"start"`
	Seconds float64    `json:"seconds"`
	Steps   []StepTime `json:"steps,omitempty"`
}

// StepTime is how long a step of a phase took, in seconds of wall time.
type StepTime struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// Memory is the memory that the process used, in bytes.
type Memory struct {
	PeakRSS   int64  `json:"peak_rss_bytes"`
	Heap      uint64 `json:"heap_bytes"`
	Allocated uint64 `json:"allocated_bytes"`
}

func memory() Memory {
	var m Memory
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) == nil {
		m.PeakRSS = int64(usage.Maxrss)
		if runtime.GOOS != "darwin" {
			m.PeakRSS *= 1024
		}
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	m.Heap, m.Allocated = mem.HeapSys, mem.TotalAlloc
	return m
}
