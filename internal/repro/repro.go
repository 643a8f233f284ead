// Package repro compares two builds by their execution logs. It pairs the actions of the builds,
// and compares the keys (everything that the result may depend on) and the outputs of each pair. It
// follows each difference back to the action or file where the difference began.
//
// [Compare] is a pure function of two logs. Its stages are:
//
//	match.go    which action of A corresponds to which action of B
//	compare.go  the stages in order, the outputs that differ, and the verdicts (judge)
//	key.go      how the arguments, variables and other lists of two actions differ
//	inputs.go   how the inputs of two actions differ, and where each changed input comes from
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
	Argument    ChangeKind = "argument"
	Environment ChangeKind = "environment"
	Platform    ChangeKind = "platform"
	Tool        ChangeKind = "tool"
	Input       ChangeKind = "input"
	ParamFile   ChangeKind = "param file"
	Timeout     ChangeKind = "timeout"
	Outputs     ChangeKind = "declared outputs"
	Unlogged    ChangeKind = "unlogged" // something that only the action's digest shows
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
}

// OutputChange is an output that differs. A and B describe both versions: a digest, or "missing".
type OutputChange struct {
	Path string   `json:"path"`
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
	Cached  [2]bool        `json:"cached"`           // whether the result came from a cache
	Allowed string         `json:"allowed,omitempty"`

	Spawns [2]int `json:"-"` // indices in the logs, -1 if the log doesn't have the action
}

// Cause is where a difference begins: a non-deterministic action, or a change in a key that isn't
// an output of another action. All actions whose keys have this change share one Cause.
type Cause struct {
	Kind string `json:"kind"` // a ChangeKind or "non-deterministic"
	Text string `json:"text"`
	// Direct counts the actions that have the change in their keys; it is 1 for a non-deterministic
	// action. Downstream counts the other actions that differ because of this cause.
	Direct     int  `json:"direct"`
	Downstream int  `json:"downstream"`
	Allowed    bool `json:"allowed,omitempty"` // all actions with this cause are allowed to differ
}

// Report is what Compare finds.
type Report struct {
	Actions    []Action // by mnemonic, label, output
	Listed     []int    // indices of the actions to report, which Options.Mnemonics selects
	Causes     []Cause  // those with the most actions first
	Allowances []Allowance
	// Counts has the number of listed actions for each verdict.
	Counts map[Verdict]int
	// Cached counts listed actions with the verdict Same whose result came from a cache in at least
	// one build. If such an action ran only once, the comparison proves nothing about it.
	Cached int
}

// Options choose which differences are reported, and which are expected.
type Options struct {
	Mnemonics []string // report only actions with these mnemonics; nil means all
	Allow     []Allowance
}

// Differing counts the listed actions that differ: those without an allowance, and those with one.
func (r *Report) Differing() (differ, allowed int) {
	for _, i := range r.Listed {
		switch act := &r.Actions[i]; {
		case act.Verdict == Same:
		case act.Allowed != "":
			allowed++
		default:
			differ++
		}
	}
	return differ, allowed
}
