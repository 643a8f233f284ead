package execlog

import (
	"cmp"
	"errors"
	"slices"
)

func (d *decoder) spawn(message []byte) error {
	var s Spawn
	err := d.fields(message, func(f field) (err error) {
		switch f.number {
		case 1:
			s.Args = append(s.Args, "")
			return d.text(&s.Args[len(s.Args)-1], f)
		case 2:
			s.Env, err = d.addPair(s.Env, f.content)
		case 3:
			return d.fields(f.content, func(f field) (err error) {
				if f.number == 1 {
					s.Platform, err = d.addPair(s.Platform, f.content)
				}
				return err
			})
		case 4:
			return d.findSet(&s.Inputs, f.id())
		case 5:
			return d.findSet(&s.Tools, f.id())
		case 6:
			return d.output(&s, f.content)
		case 7:
			return d.text(&s.Label, f)
		case 8:
			return d.text(&s.Mnemonic, f)
		case 9:
			s.ExitCode = int32(f.value)
		case 10:
			return d.text(&s.Status, f)
		case 11:
			return d.text(&s.Runner, f)
		case 12:
			s.CacheHit = f.value != 0
		case 16:
			return d.digest(&s.Digest, f.content)
		case 17:
			s.Timeout = int64(f.value)
		}
		return err
	})
	byName := func(x, y Pair) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Value, y.Value))
	}
	slices.SortFunc(s.Env, byName)
	slices.SortFunc(s.Platform, byName)
	slices.SortStableFunc(s.Outputs, func(x, y Output) int { return cmp.Compare(x.Path, y.Path) })
	d.log.Spawns = append(d.log.Spawns, s)
	return err
}

func (d *decoder) addPair(list []Pair, message []byte) ([]Pair, error) {
	var p Pair
	err := d.fields(message, func(f field) error {
		switch f.number {
		case 1:
			return d.text(&p.Name, f)
		case 2:
			return d.text(&p.Value, f)
		}
		return nil
	})
	return append(list, p), err
}

// output adds an output to a spawn: the path of an invalid output, or the id of an entry. In the
// first Bazel releases that wrote this log, the id is in a different field for each kind of
// artifact.
func (d *decoder) output(s *Spawn, message []byte) error {
	const oldFile, oldDirectory, oldLink, invalidPath, entry = 1, 2, 3, 4, 5
	var it field
	err := d.fields(message, func(f field) error {
		if f.number <= entry {
			it = f
		}
		return nil
	})
	if err != nil {
		return err
	}
	var o Output
	switch it.number {
	case invalidPath:
		o.Invalid = true
		err = d.text(&o.Path, it)
	case oldFile, oldDirectory, oldLink, entry:
		var at uint32
		if at, err = d.find(it.id(), artifactObject); err == nil {
			o = Output{Path: d.log.artifacts[at].Path, Artifact: ID(at)}
		}
	default:
		err = errors.New("an output has neither a file nor a path; a newer Bazel may have written it")
	}
	s.Outputs = append(s.Outputs, o)
	return err
}
