// Package repro compares two builds by their execution logs. It pairs the actions of the builds,
// and compares the keys (everything that the result may depend on) and the outputs of each pair. It
// follows each difference back to the action or file where the difference began.
//
// [Compare] is a pure function of two logs; the order of their entries doesn't matter. Its stages
// are:
//
//	side.go     numbers for paths and contents, which the two logs share
//	configs.go  output directories that have different names in the two builds
//	match.go    which action of A corresponds to which action of B
//	compare.go  the stages in order, the outputs that differ, and the verdicts (judge)
//	inputs.go   how the inputs of two actions differ; key.go and args.go: the rest of the key
//	lists.go    lists of numbers, which many actions share
//	origin.go   which action made an input
//	causes.go   causes, and the actions that are downstream of them
//	allow.go    which differences are expected
package repro

// Verdict is the result for an action.
type Verdict string

const (
	// Same: the key and the outputs are the same.
	Same Verdict = "same"
	// NonDeterministic: the key is the same, but the outputs differ.
	NonDeterministic Verdict = "non-deterministic"
	// KeyChanged: outputs and key differ, and some of the key's differences aren't outputs of other
	// actions.
	KeyChanged Verdict = "key changed"
	// Downstream: outputs and key differ, but all of the key's differences are outputs of other
	// actions.
	Downstream Verdict = "downstream"
	// CutOff: the key differs, but the outputs are the same.
	CutOff Verdict = "cut-off"
	// OnlyA, OnlyB: the other log has no such action.
	OnlyA Verdict = "only in A"
	OnlyB Verdict = "only in B"
)

// Verdicts lists all verdicts, in the order that reports use.
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
	Unlogged      ChangeKind = "unlogged"      // something that only the action's digest shows
)

// Change is one difference between the keys of two actions.
type Change struct {
	Kind ChangeKind `json:"kind"`
	// Name is the name of a variable or property, or the path of a file; "" for arguments.
	Name string `json:"name,omitempty"`
	// A and B are the values, or short descriptions. InA is false if A has no value; InB is false if
	// B has no value.
	A   string `json:"a,omitempty"`
	B   string `json:"b,omitempty"`
	InA bool   `json:"in_a"`
	InB bool   `json:"in_b"`
	// Note adds details, such as where a file comes from, or that a path is absolute.
	Note string `json:"note,omitempty"`
	// From is the ID of the action that made the file, if that action's output differs; else -1.
	From int `json:"from"`
	// Cause is the index of the cause that this change belongs to, or -1 if From is set.
	Cause int `json:"cause"`
}

// OutputChange is an output that differs. A and B describe both versions: a digest, or "missing".
type OutputChange struct {
	Path string   `json:"path"` // in B, or in A if only A has it
	A    string   `json:"a"`
	B    string   `json:"b"`
	More []string `json:"more,omitempty"` // files in a directory; lines about types
	// IDs are the artifacts at Path in A and B; -1 if a log has none. Package typediff uses them.
	IDs [2]int64 `json:"-"`
}

// Action is an action of one log or of both.
type Action struct {
	ID       int     `json:"id"` // its index in the report; Change.From refers to it
	Verdict  Verdict `json:"verdict"`
	Mnemonic string  `json:"mnemonic"`
	Label    string  `json:"label"`
	Output   string  `json:"output"` // the path of its first output; "" if it has none

	Changes []Change       `json:"changes,omitempty"`
	More    int            `json:"more_changes,omitempty"` // how many changes are not listed
	Outputs []OutputChange `json:"outputs,omitempty"`
	Failed  string         `json:"failed,omitempty"` // how it failed in either build, or ""
	Causes  []int          `json:"causes,omitempty"` // indices, at most maxCauses
	Deeper  int            `json:"depth,omitempty"`  // how many actions away its farthest cause is
	Cached  [2]bool        `json:"cached"`           // whether the result came from a cache
	Allowed string         `json:"allowed,omitempty"`

	Spawns [2]int `json:"-"` // indices in the logs, -1 if the log doesn't have the action

	own    []int32    // causes that are not in inputs; the method follow sorts them
	inputs *inputDiff // nil if the inputs are the same
	// sharedChanges is set if Changes is a slice of inputs.shown, which other actions share.
	sharedChanges bool
}

// Cause is where a difference begins: a non-deterministic action, or a change in a key that isn't
// an output of another action. All actions whose keys have this change share one Cause.
type Cause struct {
	Kind string `json:"kind"` // a ChangeKind or "non-deterministic"
	Text string `json:"text"`
	// Action is the ID of the non-deterministic action, or -1.
	Action int `json:"action"`
	// Direct counts the actions that have the change in their keys; it is 1 for a non-deterministic
	// action. Downstream counts the other actions that differ because of this cause.
	Direct     int  `json:"direct"`
	Downstream int  `json:"downstream"`
	Allowed    bool `json:"allowed,omitempty"` // all actions with this cause are allowed to differ
}

// Count counts the actions of one mnemonic, or all actions.
type Count struct {
	Mnemonic string          `json:"mnemonic,omitempty"`
	Total    int             `json:"total"`
	Verdicts map[Verdict]int `json:"verdicts"`
	// Spawns counts the commands in each log, and Hits those whose result came from a cache.
	Spawns [2]int `json:"spawns"`
	Hits   [2]int `json:"cache_hits"`
	// SameCached counts actions with the verdict Same whose result came from a cache in at least one
	// build. If such an action ran only once, the comparison proves nothing about it.
	SameCached int `json:"same_by_cache"`
}

// Report is what Compare finds.
type Report struct {
	Actions []Action // by mnemonic, label, output
	Listed  []int    // indices of the actions to report, which Options.Mnemonics selects
	Causes  []Cause  // those with the most actions first
	Total   Count
	Counts  []Count // by mnemonic
	// Renamed lists the pairs of output directories that were treated as the same configuration.
	Renamed    []Renamed
	Allowances []Allowance
}

// Options choose which differences are reported, and which are expected.
type Options struct {
	Mnemonics []string // report only actions with these mnemonics; nil means all
	Allow     []Allowance
}

// Differs reports whether any listed action differs without being allowed to.
func (r *Report) Differs() bool {
	for _, i := range r.Listed {
		if r.Actions[i].Verdict != Same && r.Actions[i].Allowed == "" {
			return true
		}
	}
	return false
}
