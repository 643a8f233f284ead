package conflict

import "github.com/rules-btf/rules_btf/internal/model/object"

// Inputs collects the inputs to compare, merged into one object.
type Inputs struct {
	merger  *object.Merger
	holders [][]holding // by unit of the merged object: the inputs that hold it
	paths   []string    // of the inputs
}

// holding says how many units of the input paths[path] equal a certain unit of the merged object.
type holding struct{ path, units int }

// NewInputs returns an empty Inputs.
func NewInputs() *Inputs { return &Inputs{merger: object.NewMerger()} }

// Add adds an input; path is its name in the report. Add returns an error if the input can't be
// merged, for example because its machine differs. After an error the Inputs can't be used.
func (in *Inputs) Add(path string, o *object.Object) error {
	at, err := in.merger.Place(path, o)
	if err != nil {
		return err
	}
	for i, u := range at {
		for len(in.holders) <= u {
			in.holders = append(in.holders, nil)
		}
		in.holders[u] = append(in.holders[u], holding{len(in.paths), int(o.Units[i].Count)})
	}
	in.paths = append(in.paths, path)
	return nil
}
