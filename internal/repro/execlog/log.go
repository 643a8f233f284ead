// Package execlog reads Bazel's compact execution log (--execution_log_compact_file): a stream of
// messages, each after its length as a varint, compressed with zstd or plain. Their order and their
// ids differ from build to build of the same targets, so nothing of the two is left in a [Log] but
// the order of the spawns.
//
// A log is untrusted: the size of a message and of the log, the number of fields and the depth of
// sets are bounded, and a reference to what did not come before it is an error, so that there are
// no cycles.
package execlog

import "iter"

// Log is what a log says.
type Log struct {
	// Hash is the function of all digests, such as "SHA-256"; "" if the log doesn't say.
	Hash     string
	Spawns   []Spawn // in the order in which they ended
	Symlinks []Symlink

	artifacts []Artifact
	sets      []set
}

// Spawn is a command that ran for an action, or whose result came from a cache. A spawn whose
// action was up to date in the output base is not in the log.
type Spawn struct {
	Label    string // of the target
	Mnemonic string
	Command
	Result

	// Digest is the action's, if there was a cache or a remote executor.
	Digest   Digest
	Runner   string // "linux-sandbox", "disk cache hit", "remote cache hit", …
	CacheHit bool
}

// Command is what a spawn's result may depend on.
type Command struct {
	Args     []string
	Env      []Pair
	Platform []Pair
	Inputs   SetID // with the tools
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
	Invalid  bool // it is missing, or not of the type that was declared
	Artifact ID   // what it is, unless Invalid
}

// Digest is the digest of a file's content, or of an action. The zero digest is that of an empty
// file, or of what has none.
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

// Artifact is an input or output as it was when the spawn ran. A log may hold equal ones.
type Artifact struct {
	Kind   Kind
	Path   string // from the execution root
	Digest Digest // of a file
	Target string // of a link
	// Files are those in a directory, and what is in runfiles besides the files of Inputs, each
	// with its path below Path.
	Files  []File
	Inputs SetID // of runfiles: the files that are at their own places in it
}

// File is a file in a directory.
type File struct {
	Path   string
	Digest Digest
}

// Symlink is an action that made a link to a file, for which nothing ran.
type Symlink struct {
	Input, Output string // paths
	Label         string
	Mnemonic      string
}

// SetID names a set of artifacts; 0 is the empty set.
type SetID uint32

// set is a set with the sets in it, all of which have smaller ids.
type set struct {
	items []ID
	sets  []SetID
}

// Artifacts is how many artifacts a log has. Their ids are below.
func (l *Log) Artifacts() int { return len(l.artifacts) }

// Artifact returns the artifact with an id.
func (l *Log) Artifact(id ID) *Artifact { return &l.artifacts[id] }

// Sets is how many sets a log has, the empty one included. Their ids are below.
func (l *Log) Sets() int { return len(l.sets) }

// Set returns what a set itself holds, and the sets that it holds besides, whose ids are smaller.
func (l *Log) Set(id SetID) ([]ID, []SetID) { return l.sets[id].items, l.sets[id].sets }

// Walker walks the sets of a log.
type Walker struct {
	log   *Log
	sets  []uint32 // by set, and by artifact: the last walk that came by
	items []uint32
	walk  uint32
	todo  []SetID
}

// NewWalker makes a walker. It can be used for one walk at a time.
func NewWalker(l *Log) *Walker {
	return &Walker{log: l, sets: make([]uint32, len(l.sets)), items: make([]uint32, len(l.artifacts))}
}

// All yields the artifacts of some sets, each once, and those in their runfiles.
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
