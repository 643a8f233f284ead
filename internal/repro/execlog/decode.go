package execlog

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// The numbers of fields in this file are from Bazel's src/main/protobuf/spawn.proto. These are the
// kinds of entries: the numbers of the fields that have an entry's content.
const (
	invocationEntry protowire.Number = iota + 2
	fileEntry
	directoryEntry
	linkEntry
	setEntry
	spawnEntry
	symlinkEntry
	linkSetEntry
	runfilesEntry
)

type decoder struct {
	log     *Log
	strings map[string]string // one copy of each string
	ids     map[uint32]object // by the id of an entry
	seen    int               // how many fields of the current entry have been read
	err     error             // the first error
}

// object is a decoded entry: an artifact, or a set of files, of links or of runfiles.
type object struct {
	set bool
	at  uint32 // in log.artifacts or log.sets
}

func newDecoder() *decoder {
	return &decoder{log: &Log{Links: map[string]string{}, sets: make([]set, 1)},
		strings: map[string]string{}, ids: map[uint32]object{}}
}

func (d *decoder) fail(err error) { d.err = cmp.Or(d.err, err) }

var errNoMessage = errors.New("not a message of a compact execution log")

// field is a field of a message. Its number determines whether value or content is used.
type field struct {
	value   uint64
	content []byte // valid until the next entry is read
}

// fields yields the fields of a message. It fails if the entry has too many fields: an empty
// message takes only two bytes in the log, but a hundred in memory.
func (d *decoder) fields(message []byte) iter.Seq2[protowire.Number, field] {
	return func(yield func(protowire.Number, field) bool) {
		for len(message) > 0 && d.err == nil {
			number, kind, size := protowire.ConsumeTag(message)
			if d.seen++; d.seen > maxFields {
				d.fail(fmt.Errorf("it has more than %d fields", maxFields))
				return
			}
			var f field
			if size >= 0 {
				message = message[size:]
				switch kind {
				case protowire.VarintType:
					f.value, size = protowire.ConsumeVarint(message)
				case protowire.BytesType:
					f.content, size = protowire.ConsumeBytes(message)
				default:
					size = protowire.ConsumeFieldValue(number, kind, message)
				}
			}
			if size < 0 {
				d.fail(errNoMessage)
				return
			}
			message = message[size:]
			if !yield(number, f) {
				return
			}
		}
	}
}

// numbers yields the numbers of a field that may be repeated: one, or several packed as bytes.
func (d *decoder) numbers(f field) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		if f.content == nil {
			yield(uint32(f.value))
			return
		}
		for b := f.content; len(b) > 0 && d.err == nil; {
			n, size := protowire.ConsumeVarint(b)
			if size < 0 {
				d.fail(errNoMessage)
				return
			}
			b = b[size:]
			if !yield(uint32(n)) {
				return
			}
		}
	}
}

// text returns a field's string. Equal strings share one copy.
func (d *decoder) text(f field) string {
	text, ok := d.strings[string(f.content)]
	if !ok {
		if !utf8.Valid(f.content) {
			d.fail(errNoMessage)
		}
		text = string(f.content)
		d.strings[text] = text
	}
	return text
}

// small reads a message with at most five fields: the last field with each number.
func (d *decoder) small(message []byte) (fields [6]field) {
	for n, f := range d.fields(message) {
		if int(n) < len(fields) {
			fields[n] = f
		}
	}
	return fields
}

// pair reads a message whose fields 1 and 2 are strings.
func (d *decoder) pair(message []byte) Pair {
	f := d.small(message)
	return Pair{d.text(f[1]), d.text(f[2])}
}

func (d *decoder) digest(message []byte) string {
	f := d.small(message)
	return Digest(d.text(f[1]), int64(f[2].value))
}

// Digest returns the text for the digest of a file with a size in bytes.
func Digest(hash string, size int64) string {
	if size == 0 {
		return "empty" // a log may leave out the digest of an empty file
	}
	return fmt.Sprintf("%s (%d bytes)", hash, size)
}

// file reads a file: a path, and a digest that may be absent if the file is empty.
func (d *decoder) file(message []byte) Pair {
	f := d.small(message)
	return Pair{d.text(f[1]), d.digest(f[2].content)}
}

// add reads an entry.
func (d *decoder) add(message []byte) error {
	d.seen = 0
	var id uint32
	var kind protowire.Number
	var content []byte
	for n, f := range d.fields(message) {
		switch {
		case n == 1:
			id = uint32(f.value)
		case n <= runfilesEntry:
			kind, content = n, f.content
		}
	}
	switch kind {
	case invocationEntry:
		d.log.Hash = d.pair(content).Name
	case fileEntry:
		file := d.file(content)
		d.define(id, object{at: d.artifact(Artifact{Path: file.Name, Content: "file " + file.Value})})
	case directoryEntry:
		d.define(id, object{at: d.artifact(d.directory(content))})
	case linkEntry:
		link := d.pair(content)
		d.define(id, object{at: d.artifact(Artifact{Path: link.Name, Content: "link " + link.Value})})
	case setEntry, linkSetEntry, runfilesEntry:
		made := d.set(kind, content)
		d.log.sets = append(d.log.sets, made)
		d.define(id, object{true, uint32(len(d.log.sets) - 1)})
	case spawnEntry:
		d.spawn(content)
	case symlinkEntry:
		link := d.pair(content) // the target, and the path of the link
		d.log.Links[link.Value] = link.Name
	}
	return d.err
}

func (d *decoder) define(id uint32, o object) {
	if _, ok := d.ids[id]; ok {
		d.fail(fmt.Errorf("an earlier entry has the same id %d", id))
	}
	if id != 0 { // otherwise nothing refers to it
		d.ids[id] = o
	}
}

func (d *decoder) artifact(a Artifact) uint32 {
	if a.Path == "" {
		d.fail(errors.New("a file has no path"))
	}
	d.log.artifacts = append(d.log.artifacts, a)
	return uint32(len(d.log.artifacts) - 1)
}

func (d *decoder) directory(message []byte) (a Artifact) {
	for n, f := range d.fields(message) {
		switch n {
		case 1:
			a.Path = d.text(f)
		case 2:
			a.Files = append(a.Files, d.file(f.content))
		}
	}
	sortPairs(a.Files)
	h := sha256.New()
	for _, f := range a.Files {
		fmt.Fprintf(h, "%d %s %s\n", len(f.Name), f.Name, f.Value)
	}
	a.Content = fmt.Sprintf("%d files %x", len(a.Files), h.Sum(nil))
	return a
}

func sortPairs(list []Pair) {
	slices.SortFunc(list, func(x, y Pair) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Value, y.Value))
	})
}

// find returns the entry with this id, which must have been decoded already.
func (d *decoder) find(id uint32) object {
	o, ok := d.ids[id]
	if !ok {
		d.fail(fmt.Errorf("it refers to entry %d, which doesn't come before it", id))
	}
	return o
}

func (d *decoder) findSet(id uint32) SetID {
	if id == 0 {
		return 0
	}
	o := d.find(id)
	if !o.set {
		d.fail(fmt.Errorf("it refers to entry %d, which isn't a set", id))
		return 0
	}
	return SetID(o.at)
}

// set reads a set of files, a set of links in runfiles, or the runfiles of an executable. A link is
// an artifact at the link's path, with the content of its target.
func (d *decoder) set(kind protowire.Number, message []byte) (made set) {
	tree := ""
	add := func(a Artifact) { made.items = append(made.items, ID(d.artifact(a))) }
	for n, f := range d.fields(message) {
		switch {
		case kind == setEntry && (n == 4 || n == 5), kind == linkSetEntry && n == 2:
			for id := range d.numbers(f) {
				if o := d.find(id); o.set {
					made.sets = append(made.sets, SetID(o.at))
				} else {
					made.items = append(made.items, ID(o.at))
				}
			}
		case kind == linkSetEntry && n == 1:
			link := d.small(f.content)
			if target := d.find(uint32(link[2].value)); d.err == nil && !target.set {
				add(Artifact{Path: d.text(link[1]), Content: d.log.artifacts[target.at].Content})
			}
		case kind == runfilesEntry && n == 1:
			tree = d.text(f) + "/"
		case kind == runfilesEntry && n <= 4: // files, links, and links from the root
			made.sets = append(made.sets, d.findSet(uint32(f.value)))
		case kind == runfilesEntry && n == 5:
			add(Artifact{Path: tree + d.text(f), Content: "file " + Digest("", 0)})
		case kind == runfilesEntry && n == 6:
			add(Artifact{Path: tree + "_repo_mapping", Content: "file " + d.file(f.content).Value})
		}
	}
	return made
}

func (d *decoder) spawn(message []byte) {
	var s Spawn
	for n, f := range d.fields(message) {
		switch n {
		case 1:
			s.Args = append(s.Args, d.text(f))
		case 2:
			s.Env = append(s.Env, d.pair(f.content))
		case 3:
			for n, f := range d.fields(f.content) {
				if n == 1 {
					s.Platform = append(s.Platform, d.pair(f.content))
				}
			}
		case 4:
			s.Inputs = d.findSet(uint32(f.value))
		case 5:
			s.Tools = d.findSet(uint32(f.value))
		case 6:
			s.Outputs = append(s.Outputs, d.output(f.content))
		case 7:
			s.Label = d.text(f)
		case 8:
			s.Mnemonic = d.text(f)
		case 9:
			s.ExitCode = int32(f.value)
		case 10:
			s.Status = d.text(f)
		case 11:
			s.Runner = d.text(f)
		case 12:
			s.CacheHit = f.value != 0
		case 16:
			s.Digest = d.digest(f.content)
		case 17:
			s.Timeout = int64(f.value)
		}
	}
	sortPairs(s.Env)
	sortPairs(s.Platform)
	slices.SortStableFunc(s.Outputs, func(x, y Output) int { return cmp.Compare(x.Path, y.Path) })
	d.log.Spawns = append(d.log.Spawns, s)
}

// output reads an output: the path of an invalid output, or the id of an entry.
func (d *decoder) output(message []byte) Output {
	f := d.small(message)
	if f[4].content != nil {
		return Output{Path: d.text(f[4]), Invalid: true}
	}
	if f[5].value == 0 {
		d.fail(errors.New("an output has neither a file nor a path; another Bazel may have written it"))
		return Output{}
	}
	found := d.find(uint32(f[5].value))
	if d.err != nil || found.set {
		return Output{}
	}
	return Output{Path: d.log.artifacts[found.at].Path, Artifact: ID(found.at)}
}
