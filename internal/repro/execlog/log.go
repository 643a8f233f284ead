// Package execlog reads Bazel's compact execution log (--execution_log_compact_file): a stream of
// messages, each preceded by its length as a varint. The stream may be compressed with zstd. The
// order and the ids of messages differ between builds of the same targets. So a [Log] has neither
// the ids nor the order, except for the order of the spawns.
//
// A log is untrusted, so the sizes of messages and of the log, and the numbers of entries, fields
// and links are limited. References may lead only to earlier entries, so there are no cycles.
package execlog

import "iter"

// Log is the content of a log.
type Log struct {
	// Hash is the hash function of all digests, such as "SHA-256"; "" if the log doesn't say.
	Hash     string
	Spawns   []Spawn // in the order in which they ended
	Symlinks []Symlink

	artifacts []Artifact
	sets      []set
}

// Spawn is a command that ran for an action, or whose result came from a cache. An action that was
// up to date in the output base has no spawn in the log.
type Spawn struct {
	Label    string // of the target
	Mnemonic string
	Command
	Result

	// Digest is the digest of the action, if there was a cache or a remote executor.
	Digest   Digest
	Runner   string // "linux-sandbox", "disk cache hit", "remote cache hit", …
	CacheHit bool
}

// Command is everything that a spawn's result may depend on.
type Command struct {
	Args     []string
	Env      []Pair
	Platform []Pair
	Inputs   SetID // including the tools
	Tools    SetID
	Timeout  int64 // milliseconds, 0 if there is none
}

// Result is how a spawn ended.
type Result struct {
	Outputs  []Output
	ExitCode int32
	Status   string // "" after success
}

// Pair is a variable of the environment, or a property of a platform.
type Pair struct{ Name, Value string }

// Output is a declared output.
type Output struct {
	Path     string
	Invalid  bool // it is missing, or not of the declared type
	Artifact ID   // the artifact itself, unless Invalid
}

// Digest is the digest of a file's content, or of an action. It is zero for an empty file, or if
// the log has no digest.
type Digest struct {
	Hash string // hexadecimal
	Size int64  // bytes
}

// Kind is a kind of artifact.
type Kind uint8

const (
	FileKind Kind = iota
	DirectoryKind
	LinkKind // a symbolic link that is not followed
	RunfilesKind
)

// ID is the number of an artifact in a log.
type ID uint32

// Artifact is an input or output, as it was when the spawn ran. A log may hold equal artifacts.
type Artifact struct {
	Kind   Kind
	Path   string // relative to the execution root
	Digest Digest // of a file
	Target string // of a link
	// For a directory, Files are the files in it. For runfiles, Files are only the files that are
	// not in Inputs. The paths of files are relative to Path.
	Files  []File
	Inputs SetID // for runfiles: the files that are at their usual paths
}

// File is a file in a directory.
type File struct {
	Path   string
	Digest Digest
}

// Symlink is an action that made a link to a file without running a command.
type Symlink struct {
	Input, Output string // paths
	Label         string
	Mnemonic      string
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

// All yields the artifacts in the given sets and in their runfiles, without duplicates.
func (w *Walker) All(ids ...SetID) iter.Seq[ID] {
	return func(yield func(ID) bool) {
		w.walk++
		w.todo = w.todo[:0]
		for _, id := range ids {
			w.push(id)
		}
		for len(w.todo) > 0 {
			s := &w.log.sets[w.todo[len(w.todo)-1]]
			w.todo = w.todo[:len(w.todo)-1]
			for _, id := range s.items {
				if w.items[id] == w.walk {
					continue
				}
				w.items[id] = w.walk
				if !yield(id) {
					return
				}
				w.push(w.log.artifacts[id].Inputs)
			}
			for _, id := range s.sets {
				w.push(id)
			}
		}
	}
}

func (w *Walker) push(id SetID) {
	if id != 0 && w.sets[id] != w.walk {
		w.sets[id] = w.walk
		w.todo = append(w.todo, id)
	}
}
