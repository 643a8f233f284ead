// Package typediff finds the types that differ in outputs with BTF, once repro has found that these
// outputs differ. A log has only digests, so the files of both builds must still exist. For
// example, a line that typediff adds to the output vmlinux.btf may say that a member of struct page
// has a different type. If an output is split BTF, the log also shows its base: the action that
// made the output reads an index of the base, and the action that made the index reads the base.
package typediff

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
	"github.com/rules-btf/rules_btf/internal/repro"
	"github.com/rules-btf/rules_btf/internal/repro/execlog"
)

// Build is a log, and the directory for the log's relative paths: the execution root, a workspace
// with the link bazel-out, or bazel-out itself.
type Build struct {
	Log *execlog.Log
	Dir string
}

// These limit how many files are compared (including files in directories), how many types are
// listed for each file, and how large a file may be.
const (
	maxFiles = 20
	maxTypes = 5
	maxSize  = 1 << 30 // bytes of a file
)

// Add adds lines about types to the outputs of a report's actions. It begins with the actions that
// have the first verdict in repro.Verdicts. It compares files whose names end in .btf or .btfo, and
// directories of these files. If a file can't be compared, a line gives the reason.
func Add(r *repro.Report, a, b Build) {
	c := comparison{builds: [2]Build{a, b}}
	for _, verdict := range repro.Verdicts {
		for _, i := range r.Listed {
			act := &r.Actions[i]
			if act.Verdict != verdict {
				continue
			}
			for j := range act.Outputs {
				c.output(act, &act.Outputs[j])
			}
		}
	}
}

type comparison struct {
	builds [2]Build
	done   int // how many files have been compared
}

func isBTF(path string) bool {
	return strings.HasSuffix(path, ".btf") || strings.HasSuffix(path, ".btfo")
}

// output compares one output that both builds have: a file, or the files in a directory.
func (c *comparison) output(act *repro.Action, o *repro.OutputChange) {
	if o.IDs[0] < 0 || o.IDs[1] < 0 {
		return
	}
	a := c.builds[0].Log.Artifact(execlog.ID(o.IDs[0]))
	b := c.builds[1].Log.Artifact(execlog.ID(o.IDs[1]))
	switch {
	case a.Kind != b.Kind:
	case a.Kind == execlog.FileKind:
		c.file(act, o, [2]execlog.File{{Path: a.Path, Digest: a.Digest},
			{Path: b.Path, Digest: b.Digest}}, "")
	case a.Kind == execlog.DirectoryKind:
		others := map[string]execlog.Digest{}
		for _, file := range b.Files {
			others[file.Path] = file.Digest
		}
		for _, file := range a.Files {
			if other, ok := others[file.Path]; ok && other.Hash != file.Digest.Hash {
				c.file(act, o, [2]execlog.File{{Path: a.Path + "/" + file.Path, Digest: file.Digest},
					{Path: b.Path + "/" + file.Path, Digest: other}}, " of "+file.Path)
			}
		}
	}
}

// file compares a file, and adds the differences to o. If the file is in a directory, the parameter
// where is " of " and the name of the file; otherwise it is "".
func (c *comparison) file(act *repro.Action, o *repro.OutputChange, files [2]execlog.File,
	where string) {
	if !isBTF(files[0].Path) || c.done == maxFiles {
		return
	}
	c.done++
	lines, err := c.compare(act, files)
	if err != nil {
		lines = []string{"not compared: " + err.Error()}
	}
	lines[0] = "types" + where + ": " + lines[0]
	o.More = append(o.More, lines...)
	if c.done == maxFiles {
		o.More = append(o.More, fmt.Sprintf("types: only %d files were compared", maxFiles))
	}
}

func (c *comparison) compare(act *repro.Action, files [2]execlog.File) ([]string, error) {
	var sides [2]diff.Side
	for i, file := range files {
		path, err := c.builds[i].check(file)
		if err != nil {
			return nil, err
		}
		base, err := c.builds[i].base(act.Spawns[i])
		if err != nil {
			return nil, err
		}
		if sides[i], err = relocate.ReadFile(path, base); err != nil {
			return nil, err
		}
	}
	found, summary := diff.Compare(sides[0], sides[1], diff.Options{})
	lines := []string{summary.String()}
	for _, d := range found[:min(len(found), maxTypes)] {
		lines = append(lines, "  "+d.String())
	}
	return lines, nil
}

func (b Build) path(file string) string {
	if below, ok := strings.CutPrefix(file, "bazel-out/"); ok && filepath.Base(b.Dir) == "bazel-out" {
		return filepath.Join(b.Dir, below)
	}
	return filepath.Join(b.Dir, file)
}

// check returns the path of a file, which must not have changed since the log was written.
func (b Build) check(file execlog.File) (string, error) {
	path := b.path(file.Path)
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	stale := fmt.Errorf("%s has changed since the log was written", path)
	switch {
	case !info.Mode().IsRegular(), info.Size() != file.Digest.Size:
		return "", stale
	case info.Size() > maxSize:
		return "", fmt.Errorf("%s is larger than the limit of %d bytes", path, maxSize)
	case b.Log.Hash != "SHA-256":
		return path, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	if hex.EncodeToString(h.Sum(nil)) != file.Digest.Hash {
		return "", stale
	}
	return path, nil
}

// base reads the BTF on which a spawn's output is based. It returns nil if the log shows no base.
func (b Build) base(spawn int) (*btf.Blob, error) {
	files := b.chain(spawn, 0)
	paths := make([]string, len(files))
	for i, file := range files {
		var err error
		if paths[i], err = b.check(execlog.File{Path: file.Path, Digest: file.Digest}); err != nil {
			return nil, fmt.Errorf("its base: %w", err)
		}
	}
	base, err := relocate.ReadBases(paths)
	if err != nil {
		return nil, errors.New("its base: " + err.Error())
	}
	return base, nil
}

// maxChain is the maximum length of a chain of bases that is followed.
const maxChain = 8

// chain returns the BTF files on which the output of a link is based, the deepest first. The link
// reads an index of each base. The action that makes such an index reads the base itself, and the
// indices of the base's own bases.
func (b Build) chain(spawn, depth int) []*execlog.Artifact {
	if depth == maxChain {
		return nil
	}
	var longest []*execlog.Artifact
	walker := execlog.NewWalker(b.Log)
	for id := range walker.All(b.Log.Spawns[spawn].Inputs) {
		index := b.Log.Artifact(id)
		if !strings.HasSuffix(index.Path, ".btfbase") {
			continue
		}
		maker := b.maker(index.Path)
		if maker < 0 {
			continue
		}
		below := b.chain(maker, depth+1)
		for id := range execlog.NewWalker(b.Log).All(b.Log.Spawns[maker].Inputs) {
			if file := b.Log.Artifact(id); strings.HasSuffix(file.Path, ".btf") {
				below = append(below, file)
			}
		}
		if len(below) > len(longest) {
			longest = below
		}
	}
	return longest
}

// maker returns the spawn that has a path among its outputs, or -1 if there is none.
func (b Build) maker(path string) int {
	for i := range b.Log.Spawns {
		for _, o := range b.Log.Spawns[i].Outputs {
			if o.Path == path {
				return i
			}
		}
	}
	return -1
}
