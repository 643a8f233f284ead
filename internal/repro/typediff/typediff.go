// Package typediff finds the types that differ in outputs with BTF, once repro has found that these
// outputs differ. A log has only digests, so the files of both builds must still exist. For
// example, a line that typediff adds to the output vmlinux.btf may say that a member of struct page
// has a different type. If an output is split BTF, the log also shows its base: the action that
// made the output reads an index of the base, and the action that made the index reads the base.
package typediff

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
	var files [2]map[string]string
	for i, id := range o.IDs {
		if id < 0 {
			return
		}
		files[i] = filesOf(c.builds[i].Log.Artifact(execlog.ID(id)))
	}
	for _, name := range slices.Sorted(maps.Keys(files[0])) {
		other := files[1][name]
		switch {
		case !isBTF(o.Path + name), other == "", other == files[0][name], c.done == maxFiles:
			continue
		}
		c.done++
		lines, err := c.compare(act, o, name, [2]string{files[0][name], other})
		if err != nil {
			lines = []string{"not compared: " + err.Error()}
		}
		if name != "" {
			lines[0] = " of " + name[1:] + ": " + lines[0]
		} else {
			lines[0] = ": " + lines[0]
		}
		lines[0] = "types" + lines[0]
		o.More = append(o.More, lines...)
		if c.done == maxFiles {
			o.More = append(o.More, fmt.Sprintf("types: only %d files were compared", maxFiles))
		}
	}
}

// filesOf returns the digests of an artifact's files, by what must be appended to its path.
func filesOf(a *execlog.Artifact) map[string]string {
	if digest, ok := strings.CutPrefix(a.Content, "file "); ok {
		return map[string]string{"": digest}
	}
	files := map[string]string{}
	for _, f := range a.Files {
		files["/"+f.Name] = f.Value
	}
	return files
}

// compare compares a file of an output, whose digests are given.
func (c *comparison) compare(act *repro.Action, o *repro.OutputChange, name string,
	digests [2]string) ([]string, error) {
	var sides [2]diff.Side
	for i, digest := range digests {
		b := c.builds[i]
		path, err := b.check(b.Log.Artifact(execlog.ID(o.IDs[i])).Path+name, digest)
		if err != nil {
			return nil, err
		}
		base, err := b.base(act.Spawns[i])
		if err != nil {
			return nil, fmt.Errorf("its base: %w", err)
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

// check returns the path of a file, which must not have changed since the log was written.
func (b Build) check(name, digest string) (string, error) {
	if below, ok := strings.CutPrefix(name, "bazel-out/"); ok && filepath.Base(b.Dir) == "bazel-out" {
		name = below
	}
	path := filepath.Join(b.Dir, name)
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, maxSize+1))
	switch {
	case err != nil:
		return "", err
	case n > maxSize:
		return "", fmt.Errorf("%s is larger than the limit of %d bytes", path, maxSize)
	case b.Log.Hash == "SHA-256" && execlog.Digest(hex.EncodeToString(h.Sum(nil)), n) != digest:
		return "", fmt.Errorf("%s has changed since the log was written", path)
	}
	return path, nil
}

// base reads the BTF on which a spawn's output is based. It returns nil if the log shows no base.
func (b Build) base(spawn int) (*btf.Blob, error) {
	var paths []string
	for _, file := range b.chain(spawn, 0) {
		path, err := b.check(file.Path, strings.TrimPrefix(file.Content, "file "))
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return relocate.ReadBases(paths)
}

// maxChain is the maximum length of a chain of bases that is followed.
const maxChain = 8

// chain returns the BTF files on which the output of a link is based, the deepest first. The link
// reads an index of each base. The action that makes such an index reads the base itself, and the
// indices of the base's own bases.
// Rule: two builds: the base of split BTF.
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
