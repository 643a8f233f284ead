// Package execlogtest writes execution logs for tests.
package execlogtest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rules-btf/rules_btf/internal/repro/execlog"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// Builder collects the entries of a log. Methods that return a number return the id of the entry.
type Builder struct {
	log     []byte
	digests map[uint32]Digest // of files, by id
	next    uint32
}

// New begins a log.
func New() *Builder {
	b := &Builder{digests: map[uint32]Digest{}}
	b.Entry(0, 2, Message{}.Text(1, "SHA-256"))
	return b
}

// Entry adds an entry whose content is in the field with the number kind. An id of 0 means no id.
func (b *Builder) Entry(id uint32, kind protowire.Number, content Message) {
	b.log = protowire.AppendBytes(b.log, Message{}.Number(1, uint64(id)).Message(kind, content))
}

func (b *Builder) add(kind protowire.Number, content Message) uint32 {
	b.next++
	b.Entry(b.next, kind, content)
	return b.next
}

// Digest is the digest of a file or an action.
type Digest struct {
	Hash string
	Size int64
}

// DigestOf returns the digest of a file's content.
func DigestOf(content string) Digest {
	return Digest{fmt.Sprintf("%x", sha256.Sum256([]byte(content))), int64(len(content))}
}

// String returns the digest as the log has it.
func (d Digest) String() string { return execlog.Digest(d.Hash, d.Size) }

func file(path, content string) Message {
	return Message{}.Text(1, path).Message(2, digest(DigestOf(content)))
}

func digest(d Digest) Message {
	return Message{}.Text(1, d.Hash).Number(2, uint64(d.Size))
}

// File adds a file.
func (b *Builder) File(path, content string) uint32 {
	id := b.add(3, file(path, content))
	b.digests[id] = DigestOf(content)
	return id
}

// Directory adds a directory; files has a path and a content for each file in it.
func (b *Builder) Directory(path string, files ...string) uint32 {
	d := Message{}.Text(1, path)
	for i := 0; i < len(files); i += 2 {
		d = d.Message(2, file(files[i], files[i+1]))
	}
	return b.add(4, d)
}

// Set adds a set of files.
func (b *Builder) Set(files ...uint32) uint32 { return b.Union(nil, files...) }

// Union adds a set that consists of other sets and of files.
func (b *Builder) Union(sets []uint32, files ...uint32) uint32 {
	return b.add(6, Message{}.IDs(4, sets...).IDs(5, files...))
}

// Runfiles adds the runfiles of an executable: a set of files, links to files, and an empty file.
func (b *Builder) Runfiles(path string, set uint32, links map[string]uint32) uint32 {
	var content Message
	for path, id := range links {
		content = content.Message(1, Message{}.Text(1, path).Number(2, uint64(id)))
	}
	id := b.add(9, content)
	return b.add(10, Message{}.Text(1, path).Number(2, uint64(set)).Number(3, uint64(id)).
		Text(5, "__init__.py"))
}

// Symlink adds an action that made a link.
func (b *Builder) Symlink(input, output string) {
	b.Entry(0, 8, Message{}.Text(1, input).Text(2, output))
}

// Spawn is a spawn for Builder.Spawn.
type Spawn struct {
	Args                            []string
	Env, Platform                   []execlog.Pair
	Inputs, Tools                   uint32 // sets
	Label, Mnemonic, Status, Runner string
	ExitCode                        int32
	CacheHit                        bool
	Digest                          Digest
	TimeoutMillis                   int64
}

// Spawn adds a spawn with outputs. An output is the id of a file, or the path of a missing file.
func (b *Builder) Spawn(s Spawn, outputs ...any) {
	var m Message
	for _, arg := range s.Args {
		m = m.Message(1, Message(arg))
	}
	m = m.pairs(2, s.Env).Message(3, Message{}.pairs(1, s.Platform)).
		Number(4, uint64(s.Inputs)).Number(5, uint64(s.Tools))
	for _, o := range outputs {
		switch o := o.(type) {
		case uint32:
			m = m.Message(6, Message{}.Number(5, uint64(o)))
		case string:
			m = m.Message(6, Message{}.Text(4, o))
		}
	}
	m = m.Text(7, s.Label).Text(8, s.Mnemonic).Number(9, uint64(int64(s.ExitCode))).
		Text(10, s.Status).Text(11, s.Runner).Number(12, protowire.EncodeBool(s.CacheHit)).
		Number(17, uint64(s.TimeoutMillis))
	if s.Digest != (Digest{}) {
		m = m.Message(16, digest(s.Digest))
	}
	b.Entry(0, 7, m)
}

// Plain returns the log without compression.
func (b *Builder) Plain() []byte { return b.log }

// Zstd returns the log compressed, as Bazel writes it.
func (b *Builder) Zstd(t testing.TB) []byte {
	t.Helper()
	z := must.Get(zstd.NewWriter(nil))(t)
	defer z.Close()
	return z.EncodeAll(b.log, nil)
}

// Log reads the log.
func (b *Builder) Log(t testing.TB) *execlog.Log {
	t.Helper()
	log := must.Get(execlog.Read(bytes.NewReader(b.log)))(t)
	return log
}
