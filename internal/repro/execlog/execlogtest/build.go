// Package execlogtest writes execution logs for tests.
package execlogtest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/rules-btf/rules_btf/internal/repro/execlog"
	"github.com/rules-btf/rules_btf/internal/repro/execlog/logpb"
)

// Builder collects the entries of a log. Methods that return a number return the id by which
// others refer to the entry.
type Builder struct {
	entries []*logpb.Entry
	files   map[uint32]*logpb.File // by id
	next    uint32
}

// New begins a log.
func New() *Builder {
	b := &Builder{files: map[uint32]*logpb.File{}}
	b.Add(&logpb.Entry{Type: &logpb.Entry_Invocation{
		Invocation: &logpb.Invocation{HashFunction: "SHA-256"}}})
	return b
}

// Add adds an entry as it is.
func (b *Builder) Add(e *logpb.Entry) { b.entries = append(b.entries, e) }

func (b *Builder) add(e *logpb.Entry) uint32 {
	b.next++
	e.Id = b.next
	b.Add(e)
	return e.Id
}

// Digest is the digest of a content.
func Digest(content string) *logpb.Digest {
	return &logpb.Digest{Hash: fmt.Sprintf("%x", sha256.Sum256([]byte(content))),
		Size: int64(len(content))}
}

// File adds a file.
func (b *Builder) File(path, content string) uint32 {
	f := &logpb.File{Path: path, Digest: Digest(content)}
	id := b.add(&logpb.Entry{Type: &logpb.Entry_File{File: f}})
	b.files[id] = f
	return id
}

// Directory adds a directory of files, which are pairs of path and content.
func (b *Builder) Directory(path string, files ...string) uint32 {
	d := &logpb.Directory{Path: path}
	for i := 0; i < len(files); i += 2 {
		d.Files = append(d.Files, &logpb.File{Path: files[i], Digest: Digest(files[i+1])})
	}
	return b.add(&logpb.Entry{Type: &logpb.Entry_Directory{Directory: d}})
}

// Set adds a set of files.
func (b *Builder) Set(files ...uint32) uint32 { return b.Union(nil, files...) }

// Union adds a set of sets and files.
func (b *Builder) Union(sets []uint32, files ...uint32) uint32 {
	return b.add(&logpb.Entry{Type: &logpb.Entry_Set{Set: &logpb.Set{Sets: sets, Inputs: files}}})
}

// Runfiles adds the runfiles of an executable: a set of files, and links to files.
func (b *Builder) Runfiles(path string, set uint32, links map[string]uint32) uint32 {
	id := b.add(&logpb.Entry{Type: &logpb.Entry_LinkSet{LinkSet: &logpb.LinkSet{Links: links}}})
	return b.add(&logpb.Entry{Type: &logpb.Entry_Runfiles{Runfiles: &logpb.Runfiles{Path: path,
		Inputs: set, Links: id, EmptyFiles: []string{"__init__.py"}}}})
}

// Symlink adds an action that made a link.
func (b *Builder) Symlink(input, output string) {
	b.Add(&logpb.Entry{Type: &logpb.Entry_SymlinkAction{
		SymlinkAction: &logpb.SymlinkAction{Input: input, Output: output}}})
}

// Spawn adds a spawn with outputs: ids of files, or paths of what is missing.
func (b *Builder) Spawn(s *logpb.Spawn, outputs ...any) {
	for _, o := range outputs {
		switch o := o.(type) {
		case uint32:
			s.Outputs = append(s.Outputs, &logpb.Output{Type: &logpb.Output_Entry{Entry: o}})
		case string:
			s.Outputs = append(s.Outputs, &logpb.Output{Type: &logpb.Output_InvalidPath{InvalidPath: o}})
		}
	}
	b.Add(&logpb.Entry{Type: &logpb.Entry_Spawn{Spawn: s}})
}

// Plain returns the log without compression.
func (b *Builder) Plain(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, e := range b.entries {
		if _, err := protodelim.MarshalTo(&out, e); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// Zstd returns the log as Bazel writes it.
func (b *Builder) Zstd(t testing.TB) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	return z.EncodeAll(b.Plain(t), nil)
}

// Log returns the log as it is read.
func (b *Builder) Log(t testing.TB) *execlog.Log {
	t.Helper()
	log, err := execlog.Read(bytes.NewReader(b.Plain(t)))
	if err != nil {
		t.Fatal(err)
	}
	return log
}
