// Package repro compares two builds by their execution logs: it pairs the actions of the two, says
// of each pair whether its key (all that the result may depend on) and its outputs are the same,
// and follows what differs to the action or file where it began.
//
// [Compare] is a pure function of two logs, whatever the order of their entries. Its stages:
//
//	side.go     numbers for paths and contents, which the two logs share
//	configs.go  output directories that have another name in the other build
//	match.go    which action of A is which of B
//	inputs.go   how the inputs of two actions differ, key.go and args.go the rest of the key
//	lists.go    numbers that many actions have in common
//	origin.go   which action made an input
//	causes.go   verdicts; causes, and what is downstream of them
//	allow.go    which differences are expected
package repro

// Verdict is what is said of an action.
type Verdict string

const (
	// Same: the key and the outputs are the same.
	Same Verdict = "same"
	// NonDeterministic: the key is the same, the outputs differ.
	NonDeterministic Verdict = "non-deterministic"
	// KeyChanged: the key differs, not only by the outputs of other actions, and so do the outputs.
	KeyChanged Verdict = "key changed"
	// Downstream: the key differs by the outputs of other actions alone, and the outputs differ.
	Downstream Verdict = "downstream"
	// CutOff: the key differs, by whatever, but the outputs are the same.
	CutOff Verdict = "cut-off"
	// OnlyA, OnlyB: the other log has no such action.
	OnlyA Verdict = "only in A"
	OnlyB Verdict = "only in B"
)

// Verdicts are all verdicts, in the order of reports.
var Verdicts = []Verdict{NonDeterministic, KeyChanged, OnlyA, OnlyB, Downstream, CutOff, Same}

// ChangeKind is a part of an action's key.
type ChangeKind string

const (
	Argument      ChangeKind = "argument"
	Environment   ChangeKind = "environment"
	Platform      ChangeKind = "platform"
	Tool          ChangeKind = "tool"
	Input         ChangeKind = "input"
	ParamFile     ChangeKind = "param file"
	Timeout       ChangeKind = "timeout"
	Outputs       ChangeKind = "declared outputs"
	Configuration ChangeKind = "configuration" // the name of an output directory
	Unlogged      ChangeKind = "unlogged"      // the action's digest, by what the log doesn't show
)

// Change is one difference between the keys of two actions.
type Change struct {
	Kind ChangeKind `json:"kind"`
	// Name is that of a variable or property, or the path of a file; "" for arguments.
	Name string `json:"name,omitempty"`
	// A and B are the values, or short texts of them. "" and not In if one has none.
	A   string `json:"a,omitempty"`
	B   string `json:"b,omitempty"`
	InA bool   `json:"in_a"`
	InB bool   `json:"in_b"`
	// Note says more: where a file is from, that a path is absolute.
	Note string `json:"note,omitempty"`
	// From is the action of the report whose output the file is, if that differs; else -1.
	From int `json:"from"`
	// Cause is the index of the cause that this change is, or -1 if From is set.
	Cause int `json:"cause"`
}

// OutputChange is an output that differs. A and B say what is there: a digest, "missing".
type OutputChange struct {
	Path string   `json:"path"` // in B, or in A if only A has it
	A    string   `json:"a"`
	B    string   `json:"b"`
	More []string `json:"more,omitempty"` // files in a directory; lines about types
	// IDs of what Path is in the logs; -1 if it is not there. For those who look at the files.
	IDs [2]int64 `json:"-"`
}

// Action is an action of one log or of both.
type Action struct {
	ID       int     `json:"id"` // its index in the report, which Change.From is too
	Verdict  Verdict `json:"verdict"`
	Mnemonic string  `json:"mnemonic"`
	Label    string  `json:"label"`
	Output   string  `json:"output"` // the path of the first; "" if it has none

	Changes []Change       `json:"changes,omitempty"`
	More    int            `json:"more_changes,omitempty"` // changes that are not listed
	Outputs []OutputChange `json:"outputs,omitempty"`
	Failed  string         `json:"failed,omitempty"` // how it failed, if it did in either build
	Causes  []int          `json:"causes,omitempty"` // indices, at most maxCauses
	Deeper  int            `json:"depth,omitempty"`  // actions between the farthest cause and it
	Cached  [2]bool        `json:"cached"`           // whether the result came from a cache
	Allowed string         `json:"allowed,omitempty"`

	Spawns [2]int `json:"-"` // indices in the logs, -1 if it is not there

	own    []int32    // its causes but those of inputs, ascending after follow
	inputs *inputDiff // nil if the inputs are the same
	// sharedChanges says that Changes are a part of inputs.
	sharedChanges bool
}

// Cause is where a difference begins: a change of a key that is no other action's output, the same
// of all actions that have it, or a non-deterministic action.
type Cause struct {
	Kind string `json:"kind"` // a ChangeKind or "non-deterministic"
	Text string `json:"text"`
	// Action is the non-deterministic one, or -1.
	Action int `json:"action"`
	// Direct counts the actions that have the change in their keys, or 1; Downstream those that
	// differ through others.
	Direct     int  `json:"direct"`
	Downstream int  `json:"downstream"`
	Allowed    bool `json:"allowed,omitempty"` // all actions that differ by it are expected to
}

// Count counts the actions of a mnemonic, or all.
type Count struct {
	Mnemonic string          `json:"mnemonic,omitempty"`
	Total    int             `json:"total"`
	Verdicts map[Verdict]int `json:"verdicts"`
	// Spawns and Hits are of each log: commands, and those whose result came from a cache.
	Spawns [2]int `json:"spawns"`
	Hits   [2]int `json:"cache_hits"`
	// SameCached counts actions of verdict same that at least one build took from a cache: they were
	// perhaps made once and not twice, which shows nothing.
	SameCached int `json:"same_by_cache"`
}

// Report is what Compare finds.
type Report struct {
	Actions []Action // by mnemonic, label, output
	Listed  []int    // those to report, by Options.Mnemonics
	Causes  []Cause  // those with most actions first
	Total   Count
	Counts  []Count // by mnemonic
	// Renamed are the output directories of configurations that were taken for one another.
	Renamed    []Renamed
	Allowances []Allowance
}

// Options choose what is reported and expected.
type Options struct {
	Mnemonics []string // report the actions with these alone; nil means all
	Allow     []Allowance
}

// Differs reports whether an action differs that is not allowed to.
func (r *Report) Differs() bool {
	for _, i := range r.Listed {
		if r.Actions[i].Verdict != Same && r.Actions[i].Allowed == "" {
			return true
		}
	}
	return false
}
