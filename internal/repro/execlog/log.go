// Package execlog reads Bazel's compact execution log (--execution_log_compact_file): a stream of
// messages, each preceded by its length as a varint. The stream may be compressed with zstd. The
// ids of messages differ between builds of the same targets, so a [Log] doesn't have them.
//
// A log is untrusted, so the sizes of messages and of the log, and the numbers of entries and
// fields are limited. References may lead only to earlier entries, so there are no cycles.
package execlog

import "iter"

// Log is the content of a log.
type Log struct {
	// Hash is the hash function of all digests, such as "SHA-256"; "" if the log doesn't say.
	Hash string
	// Spawns are in the order in which they ended, so the maker of a file comes before its readers.
	Spawns []Spawn
	Links  map[string]string // the paths of links that actions made without a command: the targets

	artifacts []Artifact
	sets      []set
}

// Spawn is a command that ran for an action, or whose result came from a cache. An action that was
// up to date in the output base has no spawn in the log.
type Spawn struct {
	Label    string // of the target
	Mnemonic string

	Args          []string
	Env           []Pair
	Platform      []Pair
	Inputs, Tools SetID // Inputs include Tools
	Timeout       int64 // milliseconds, 0 if there is none

	Outputs  []Output
	ExitCode int32
	Status   string // "" after success
	Digest   string // of the action, if there was a cache or a remote executor
	Runner   string // "linux-sandbox", "disk cache hit", "remote cache hit", …
	CacheHit bool
}

// Pair is a variable of the environment, a property of a platform, or a file of a directory with
// its digest.
type Pair struct{ Name, Value string }

// Output is a declared output.
type Output struct {
	Path     string
	Invalid  bool // it is missing, or not of the declared type
	Artifact ID   // the artifact itself, unless Invalid
}

// ID is the number of an artifact in a log.
type ID uint32

// Artifact is an input or output, as it was when the spawn ran.
type Artifact struct {
	Path string // relative to the execution root
	// Content is "file " and the digest, "link " and the target, or for a directory the number of
	// files and a hash of them. A digest is "HASH (N bytes)", or "empty".
	Content string
	Files   []Pair // of a directory: paths relative to Path, and digests
}

// SetID names a set of artifacts; 0 is the empty set.
type SetID uint32

// set is a set of items and of other sets, which all have smaller ids.
type set struct {
	items []ID
	sets  []SetID
}

// Artifacts returns the number of artifacts in a log. Their ids are smaller.
func (l *Log) Artifacts() int { return len(l.artifacts) }

// Artifact returns the artifact with an id.
func (l *Log) Artifact(id ID) *Artifact { return &l.artifacts[id] }

// Sets returns the number of sets in a log, including the empty set. Their ids are smaller.
func (l *Log) Sets() int { return len(l.sets) }

// Set returns the items of a set, and the sets in it, which have smaller ids.
func (l *Log) Set(id SetID) ([]ID, []SetID) { return l.sets[id].items, l.sets[id].sets }

// Walker walks the sets of a log.
type Walker struct {
	log   *Log
	sets  []uint32 // by set, and by artifact: the last walk that visited it
	items []uint32
	walk  uint32
	todo  []SetID
}

// NewWalker makes a walker. The walker can be used for one walk at a time.
func NewWalker(l *Log) *Walker {
	return &Walker{log: l, sets: make([]uint32, len(l.sets)), items: make([]uint32, len(l.artifacts))}
}

// All yields the artifacts in a set, without duplicates.
func (w *Walker) All(id SetID) iter.Seq[ID] {
	return func(yield func(ID) bool) {
		w.walk++
		w.todo = append(w.todo[:0], id)
		for len(w.todo) > 0 {
			id := w.todo[len(w.todo)-1]
			w.todo = w.todo[:len(w.todo)-1]
			for _, id := range w.log.sets[id].items {
				if w.items[id] == w.walk {
					continue
				}
				w.items[id] = w.walk
				if !yield(id) {
					return
				}
			}
			for _, id := range w.log.sets[id].sets {
				if w.sets[id] != w.walk {
					w.sets[id] = w.walk
					w.todo = append(w.todo, id)
				}
			}
		}
	}
}
