package execlog

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

type decoder struct {
	log     *Log
	strings map[string]string // one copy of each string
	ids     map[uint32]object // by the id of an entry
	links   [][]File          // sets of links in runfiles, by the index in object
	copied  int               // how many links were copied from one set to another
	seen    int               // how many fields of the current entry have been read
}

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

func (d *decoder) add(message []byte) error {
	d.seen = 0
	var id uint32
	var entry field
	err := d.fields(message, func(f field) error {
		switch {
		case f.number == 1:
			id = f.id()
		case f.number <= runfilesEntry:
			entry = f
		}
		return nil
	})
	if err != nil {
		return err
	}
	switch content := entry.content; entry.number {
	case invocationEntry:
		return d.texts(content, map[protowire.Number]*string{1: &d.log.Hash})
	case fileEntry:
		f, err := d.file(content)
		return cmp.Or(err, d.artifact(id, Artifact{Kind: FileKind, Path: f.Path, Digest: f.Digest}))
	case directoryEntry:
		return d.directory(id, content)
	case linkEntry:
		a := Artifact{Kind: LinkKind}
		err := d.texts(content, map[protowire.Number]*string{1: &a.Path, 2: &a.Target})
		return cmp.Or(err, d.artifact(id, a))
	case setEntry:
		return d.set(id, content)
	case spawnEntry:
		return d.spawn(content)
	case symlinkEntry:
		var s Symlink
		err := d.texts(content, map[protowire.Number]*string{1: &s.Input, 2: &s.Output, 3: &s.Label,
			4: &s.Mnemonic})
		d.log.Symlinks = append(d.log.Symlinks, s)
		return err
	case linkSetEntry:
		return d.linkSet(id, content)
	case runfilesEntry:
		return d.runfiles(id, content)
	}
	return nil // an unknown kind of entry, from a newer Bazel
}

// texts reads a message all of whose relevant fields are strings.
func (d *decoder) texts(message []byte, to map[protowire.Number]*string) error {
	return d.fields(message, func(f field) error {
		if s := to[f.number]; s != nil {
			return d.text(s, f)
		}
		return nil
	})
}

func (d *decoder) digest(to *Digest, message []byte) error {
	return d.fields(message, func(f field) error {
		switch f.number {
		case 1:
			return d.text(&to.Hash, f)
		case 2:
			to.Size = int64(f.value)
		}
		return nil
	})
}

// file reads a file: a path, and a digest that may be absent if the file is empty.
func (d *decoder) file(message []byte) (file File, err error) {
	err = d.fields(message, func(f field) error {
		switch f.number {
		case 1:
			return d.text(&file.Path, f)
		case 2:
			return d.digest(&file.Digest, f.content)
		}
		return nil
	})
	return file, err
}

func (d *decoder) define(id uint32, o object) error {
	if id == 0 {
		return nil // nothing refers to it
	}
	if _, ok := d.ids[id]; ok {
		return fmt.Errorf("an earlier entry has the same id %d", id)
	}
	d.ids[id] = o
	return nil
}

func (d *decoder) artifact(id uint32, a Artifact) error {
	if a.Path == "" {
		return errors.New("a file has no path")
	}
	slices.SortFunc(a.Files, func(x, y File) int {
		return cmp.Or(cmp.Compare(x.Path, y.Path), cmp.Compare(x.Digest.Hash, y.Digest.Hash))
	})
	d.log.artifacts = append(d.log.artifacts, a)
	return d.define(id, object{artifactObject, uint32(len(d.log.artifacts) - 1)})
}

func (d *decoder) directory(id uint32, message []byte) error {
	a := Artifact{Kind: DirectoryKind}
	err := d.fields(message, func(f field) error {
		switch f.number {
		case 1:
			return d.text(&a.Path, f)
		case 2:
			file, err := d.file(f.content)
			a.Files = append(a.Files, file)
			return err
		}
		return nil
	})
	return cmp.Or(err, d.artifact(id, a))
}

// find returns where the decoded entry with this id is (object.at). It must be of the given kind.
func (d *decoder) find(id uint32, kind objectKind) (uint32, error) {
	o, ok := d.ids[id]
	if !ok {
		return 0, fmt.Errorf("it refers to entry %d, which doesn't come before it", id)
	}
	if o.kind != kind {
		return 0, fmt.Errorf("it refers to entry %d, which has the wrong kind", id)
	}
	return o.at, nil
}

// findSet sets *set to the set with this id.
func (d *decoder) findSet(set *SetID, id uint32) error {
	if id == 0 {
		return nil
	}
	at, err := d.find(id, setObject)
	*set = SetID(at)
	return err
}

// set reads a set. The first Bazel releases that wrote this log had one list per kind of artifact.
func (d *decoder) set(id uint32, message []byte) error {
	const oldFiles, oldDirectories, oldLinks, sets, inputs = 1, 2, 3, 4, 5
	var made set
	err := d.fields(message, func(f field) error {
		switch f.number {
		case oldFiles, oldDirectories, oldLinks, inputs:
			return f.eachID(func(item uint32) error {
				at, err := d.find(item, artifactObject)
				made.items = append(made.items, ID(at))
				return err
			})
		case sets:
			return f.eachID(func(inner uint32) error {
				at, err := d.find(inner, setObject)
				made.sets = append(made.sets, SetID(at))
				return err
			})
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.log.sets = append(d.log.sets, made)
	return d.define(id, object{setObject, uint32(len(d.log.sets) - 1)})
}

// maxLinks limits how many links in runfiles are copied. Sets of links are few and small.
const maxLinks = 4 << 20

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

// linkSet reads a set of symbolic links in runfiles. A link's path differs from its file's path.
func (d *decoder) linkSet(id uint32, message []byte) error {
	links := map[string]uint32{}
	var files []File
	err := d.fields(message, func(f field) (err error) {
		switch f.number {
		case 1:
			return d.link(links, f.content)
		case 2:
			return f.eachID(func(inner uint32) (err error) {
				files, err = d.addLinks(files, inner)
				return err
			})
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(links)) {
		at, err := d.find(links[path], artifactObject)
		if err != nil {
			return err
		}
		files = append(files, File{path, d.log.artifacts[at].Digest})
	}
	d.links = append(d.links, files)
	return d.define(id, object{linksObject, uint32(len(d.links) - 1)})
}

// link reads a path and the id of its target.
func (d *decoder) link(to map[string]uint32, message []byte) error {
	var path string
	var id uint32
	err := d.fields(message, func(f field) error {
		switch f.number {
		case 1:
			return d.text(&path, f)
		case 2:
			id = f.id()
		}
		return nil
	})
	to[path] = id
	return err
}

func (d *decoder) runfiles(id uint32, message []byte) error {
	a := Artifact{Kind: RunfilesKind}
	err := d.fields(message, func(f field) (err error) {
		switch f.number {
		case 1:
			return d.text(&a.Path, f)
		case 2:
			return d.findSet(&a.Inputs, f.id())
		case 3, 4: // links, and links from the root
			if f.id() != 0 {
				a.Files, err = d.addLinks(a.Files, f.id())
			}
		case 5:
			var empty File
			err = d.text(&empty.Path, f)
			a.Files = append(a.Files, empty)
		case 6:
			var mapping File
			mapping, err = d.file(f.content)
			a.Files = append(a.Files, File{"_repo_mapping", mapping.Digest})
		}
		return err
	})
	return cmp.Or(err, d.artifact(id, a))
}
