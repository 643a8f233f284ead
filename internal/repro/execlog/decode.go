package execlog

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/rules-btf/rules_btf/internal/repro/execlog/logpb"
)

// decoder makes a log of its messages.
type decoder struct {
	log     *Log
	strings map[string]string // one copy of each string
	ids     map[uint32]object // by the number of an entry
	links   [][]File          // by number in object: sets of links in runfiles
	copied  int               // links that are in the log once, and in several sets here
}

// object is what an entry with an id became.
type object struct {
	kind objectKind
	at   uint32 // in log.artifacts, log.sets or links
}

type objectKind uint8

const (
	artifactObject objectKind = iota
	setObject
	linksObject
)

func newDecoder() *decoder {
	return &decoder{
		log:     &Log{sets: make([]set, 1)},
		strings: map[string]string{},
		ids:     map[uint32]object{},
	}
}

// text returns the one copy of a string.
func (d *decoder) text(s string) string {
	if t, ok := d.strings[s]; ok {
		return t
	}
	d.strings[s] = s
	return s
}

func (d *decoder) digest(p *logpb.Digest) Digest {
	return Digest{d.text(p.GetHash()), p.GetSize()}
}

// entry takes one entry of the log.
func (d *decoder) entry(e *logpb.Entry) error {
	switch t := e.Type.(type) {
	case *logpb.Entry_Invocation:
		d.log.Hash = t.Invocation.HashFunction
	case *logpb.Entry_File:
		return d.artifact(e.Id, Artifact{Kind: FileKind, Path: t.File.Path,
			Digest: d.digest(t.File.Digest)})
	case *logpb.Entry_Directory:
		a := Artifact{Kind: DirectoryKind, Path: t.Directory.Path}
		for _, f := range t.Directory.Files {
			a.Files = append(a.Files, File{d.text(f.Path), d.digest(f.Digest)})
		}
		return d.artifact(e.Id, a)
	case *logpb.Entry_Link:
		return d.artifact(e.Id, Artifact{Kind: LinkKind, Path: t.Link.Path,
			Target: d.text(t.Link.Target)})
	case *logpb.Entry_Runfiles:
		return d.runfiles(e.Id, t.Runfiles)
	case *logpb.Entry_Set:
		return d.set(e.Id, t.Set)
	case *logpb.Entry_LinkSet:
		return d.linkSet(e.Id, t.LinkSet)
	case *logpb.Entry_Spawn:
		return d.spawn(t.Spawn)
	case *logpb.Entry_SymlinkAction:
		s := t.SymlinkAction
		d.log.Symlinks = append(d.log.Symlinks,
			Symlink{d.text(s.Input), d.text(s.Output), d.text(s.Label), d.text(s.Mnemonic)})
	}
	return nil // of an unknown kind, from a later Bazel
}

// define gives an id to what an entry became.
func (d *decoder) define(id uint32, o object) error {
	if id == 0 {
		return nil // nothing refers to it
	}
	if _, ok := d.ids[id]; ok {
		return fmt.Errorf("a second entry with the id %d", id)
	}
	d.ids[id] = o
	return nil
}

func (d *decoder) artifact(id uint32, a Artifact) error {
	if a.Path == "" {
		return errors.New("a file without a path")
	}
	a.Path = d.text(a.Path)
	slices.SortFunc(a.Files, func(x, y File) int {
		return cmp.Or(cmp.Compare(x.Path, y.Path), cmp.Compare(x.Digest.Hash, y.Digest.Hash))
	})
	d.log.artifacts = append(d.log.artifacts, a)
	return d.define(id, object{artifactObject, uint32(len(d.log.artifacts) - 1)})
}

// find returns what the entry with an id became.
func (d *decoder) find(id uint32, kind objectKind) (uint32, error) {
	o, ok := d.ids[id]
	if !ok {
		return 0, fmt.Errorf("it refers to the entry %d, which did not come before it", id)
	}
	if o.kind != kind {
		return 0, fmt.Errorf("it refers to the entry %d, which is of another kind", id)
	}
	return o.at, nil
}

func (d *decoder) findSet(id uint32) (SetID, error) {
	if id == 0 {
		return 0, nil
	}
	at, err := d.find(id, setObject)
	return SetID(at), err
}

func (d *decoder) set(id uint32, s *logpb.Set) error {
	var made set
	for _, list := range [][]uint32{s.OldFiles, s.OldDirectories, s.OldLinks, s.Inputs} {
		for _, item := range list {
			at, err := d.find(item, artifactObject)
			if err != nil {
				return err
			}
			made.items = append(made.items, ID(at))
		}
	}
	for _, inner := range s.Sets {
		at, err := d.find(inner, setObject)
		if err != nil {
			return err
		}
		made.sets = append(made.sets, SetID(at))
	}
	d.log.sets = append(d.log.sets, made)
	return d.define(id, object{setObject, uint32(len(d.log.sets) - 1)})
}

// maxLinks is how many copies of links in runfiles are made. Sets of links are small and few.
const maxLinks = 4 << 20

// addLinks adds the links of a set to files.
func (d *decoder) addLinks(files []File, id uint32) ([]File, error) {
	at, err := d.find(id, linksObject)
	if err != nil {
		return nil, err
	}
	if d.copied += len(d.links[at]); d.copied > maxLinks {
		return nil, fmt.Errorf("more than %d links in runfiles", maxLinks)
	}
	return append(files, d.links[at]...), nil
}

func (d *decoder) linkSet(id uint32, s *logpb.LinkSet) error {
	var files []File
	for _, inner := range s.Sets {
		var err error
		if files, err = d.addLinks(files, inner); err != nil {
			return err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(s.Links)) {
		at, err := d.find(s.Links[path], artifactObject)
		if err != nil {
			return err
		}
		files = append(files, File{d.text(path), d.log.artifacts[at].Digest})
	}
	d.links = append(d.links, files)
	return d.define(id, object{linksObject, uint32(len(d.links) - 1)})
}

func (d *decoder) runfiles(id uint32, r *logpb.Runfiles) error {
	a := Artifact{Kind: RunfilesKind, Path: r.Path}
	var err error
	if a.Inputs, err = d.findSet(r.Inputs); err != nil {
		return err
	}
	for _, links := range []uint32{r.Links, r.RootLinks} {
		if links == 0 {
			continue
		}
		if a.Files, err = d.addLinks(a.Files, links); err != nil {
			return err
		}
	}
	for _, path := range r.EmptyFiles {
		a.Files = append(a.Files, File{Path: d.text(path)})
	}
	if r.RepoMapping != nil {
		a.Files = append(a.Files, File{"_repo_mapping", d.digest(r.RepoMapping.Digest)})
	}
	return d.artifact(id, a)
}

func (d *decoder) spawn(p *logpb.Spawn) error {
	s := Spawn{
		Label:    d.text(p.Label),
		Mnemonic: d.text(p.Mnemonic),
		Command: Command{
			Env:      d.pairs(p.Env),
			Platform: d.pairs(p.Platform.GetProperties()),
			Timeout:  p.TimeoutMillis,
		},
		Result:   Result{ExitCode: p.ExitCode, Status: d.text(p.Status)},
		Digest:   d.digest(p.Digest),
		Runner:   d.text(p.Runner),
		CacheHit: p.CacheHit,
	}
	var err error
	if s.Inputs, err = d.findSet(p.Inputs); err != nil {
		return err
	}
	if s.Tools, err = d.findSet(p.Tools); err != nil {
		return err
	}
	s.Args = make([]string, len(p.Args))
	for i, arg := range p.Args {
		s.Args[i] = d.text(arg)
	}
	for _, o := range p.Outputs {
		out, err := d.output(o)
		if err != nil {
			return err
		}
		s.Outputs = append(s.Outputs, out)
	}
	slices.SortStableFunc(s.Outputs, func(x, y Output) int { return cmp.Compare(x.Path, y.Path) })
	d.log.Spawns = append(d.log.Spawns, s)
	return nil
}

// pairs returns pairs in the order of their names.
func (d *decoder) pairs(list []*logpb.Pair) []Pair {
	var pairs []Pair
	for _, p := range list {
		pairs = append(pairs, Pair{d.text(p.Name), d.text(p.Value)})
	}
	slices.SortFunc(pairs, func(x, y Pair) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Value, y.Value))
	})
	return pairs
}

func (d *decoder) output(o *logpb.Output) (Output, error) {
	var id uint32
	switch t := o.Type.(type) {
	case *logpb.Output_InvalidPath:
		return Output{Path: d.text(t.InvalidPath), Invalid: true}, nil
	case *logpb.Output_Entry:
		id = t.Entry
	case *logpb.Output_OldFile:
		id = t.OldFile
	case *logpb.Output_OldDirectory:
		id = t.OldDirectory
	case *logpb.Output_OldLink:
		id = t.OldLink
	default:
		return Output{}, errors.New("an output without a file; it is of a later Bazel")
	}
	at, err := d.find(id, artifactObject)
	if err != nil {
		return Output{}, err
	}
	return Output{Path: d.log.artifacts[at].Path, Artifact: ID(at)}, nil
}
