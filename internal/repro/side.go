package repro

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/repro/execlog"
)

// numbering gives equal strings the same number, in both logs.
type numbering struct {
	of    map[string]int32
	names []string
}

func newNumbering() *numbering { return &numbering{of: map[string]int32{}} }

func (n *numbering) number(s string) int32 {
	i, ok := n.of[s]
	if !ok {
		i = int32(len(n.names))
		n.of[s] = i
		n.names = append(n.names, s)
	}
	return i
}

// ranks returns, by number, the position of each string in sorted order.
func (n *numbering) ranks() []int32 {
	order := make([]int32, len(n.names))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(x, y int32) int { return cmp.Compare(n.names[x], n.names[y]) })
	ranks := make([]int32, len(order))
	for at, i := range order {
		ranks[i] = int32(at)
	}
	return ranks
}

// side is one log, together with the numbers of its paths and contents.
type side struct {
	log     *execlog.Log
	rename  renames
	path    []int32    // by artifact: the number of its path
	content []int32    // by artifact: the number of its content
	prints  [][16]byte // by set: a hash, the same for equal sets that are composed in the same way
	has     []bool     // by path: whether the log has it
	walker  *execlog.Walker
	sums    map[execlog.SetID][2]uint64 // by set: what inputSum returns
	parts   [][2]uint64                 // by artifact: what it adds to inputSum; nil until needed

	makers   map[int32][]int32  // by path: the spawns that list it as an output
	stripped map[string][]int32 // the same, by the path without its configuration
	links    map[int32]int32    // by path of a link that Bazel made: the link's target
}

// newSide numbers the artifacts of a log. It first renames their paths.
func newSide(log *execlog.Log, rename renames, paths, contents *numbering) *side {
	s := &side{log: log, rename: rename, walker: execlog.NewWalker(log),
		sums: map[execlog.SetID][2]uint64{}}
	s.path = make([]int32, log.Artifacts())
	s.content = make([]int32, log.Artifacts())
	for i := range s.path {
		a := log.Artifact(execlog.ID(i))
		s.path[i] = paths.number(rename.apply(a.Path))
		s.content[i] = contents.number(contentOf(a))
	}
	s.findPrints()
	s.makers, s.stripped = map[int32][]int32{}, map[string][]int32{}
	for i := range log.Spawns {
		for _, o := range log.Spawns[i].Outputs {
			p := paths.number(rename.apply(o.Path))
			s.makers[p] = append(s.makers[p], int32(i))
			short := withoutConfiguration(o.Path)
			s.stripped[short] = append(s.stripped[short], int32(i))
		}
	}
	s.links = map[int32]int32{}
	for _, l := range log.Symlinks {
		s.links[paths.number(rename.apply(l.Output))] = paths.number(rename.apply(l.Input))
	}
	return s
}

// contentOf returns a text that is the same for artifacts of the same kind and content. It leaves
// out the Inputs of runfiles, because the spawn has these as inputs anyway.
func contentOf(a *execlog.Artifact) string {
	switch a.Kind {
	case execlog.FileKind:
		return "file " + digestText(a.Digest)
	case execlog.LinkKind:
		return "link " + a.Target
	}
	h := sha256.New()
	for _, f := range a.Files {
		fmt.Fprintf(h, "%d %s %s\n", len(f.Path), f.Path, digestText(f.Digest))
	}
	return fmt.Sprintf("%d files %x", len(a.Files), h.Sum(nil))
}

func digestText(d execlog.Digest) string {
	if d.Size == 0 {
		return "empty" // the log may leave out the digest of an empty file
	}
	return fmt.Sprintf("%s (%d bytes)", d.Hash, d.Size)
}

func (s *side) findPrints() {
	s.prints = make([][16]byte, s.log.Sets())
	var parts [][16]byte
	for id := 1; id < len(s.prints); id++ {
		items, sets := s.log.Set(execlog.SetID(id))
		parts = parts[:0]
		for _, item := range items {
			var part [16]byte
			binary.LittleEndian.PutUint32(part[:], uint32(s.path[item]))
			binary.LittleEndian.PutUint32(part[4:], uint32(s.content[item]))
			if a := s.log.Artifact(item); a.Inputs != 0 {
				inner := s.prints[a.Inputs]
				copy(part[8:], inner[:8])
			}
			parts = append(parts, part)
		}
		for _, inner := range sets {
			parts = append(parts, s.prints[inner])
		}
		slices.SortFunc(parts, func(x, y [16]byte) int {
			return cmp.Or(cmp.Compare(binary.LittleEndian.Uint64(x[:]), binary.LittleEndian.Uint64(y[:])),
				cmp.Compare(binary.LittleEndian.Uint64(x[8:]), binary.LittleEndian.Uint64(y[8:])))
		})
		h := sha256.New()
		fmt.Fprintf(h, "%d %d\n", len(items), len(sets))
		for i := range parts {
			h.Write(parts[i][:])
		}
		copy(s.prints[id][:], h.Sum(nil))
	}
}

// inputSum returns a hash of a set's inputs that does not depend on how the set is composed.
func (s *side) inputSum(set execlog.SetID, paths, contents *numbering) [2]uint64 {
	if sum, ok := s.sums[set]; ok {
		return sum
	}
	if s.parts == nil {
		s.parts = make([][2]uint64, len(s.path))
		for i := range s.parts {
			h := sha256.New()
			write(h, paths.names[s.path[i]])
			write(h, contents.names[s.content[i]])
			sum := h.Sum(nil)
			s.parts[i] = [2]uint64{binary.LittleEndian.Uint64(sum), binary.LittleEndian.Uint64(sum[8:])}
		}
	}
	var sum [2]uint64
	for id := range s.walker.All(set) {
		sum[0] += s.parts[id][0]
		sum[1] += s.parts[id][1]
	}
	s.sums[set] = sum
	return sum
}

// withoutConfiguration turns "bazel-out/k8-fastbuild/bin/x" into "bazel-out/*/bin/x".
func withoutConfiguration(path string) string {
	if rest, ok := strings.CutPrefix(path, outRoot); ok {
		if _, below, ok := strings.Cut(rest, "/"); ok {
			return outRoot + "*/" + below
		}
	}
	return path
}
