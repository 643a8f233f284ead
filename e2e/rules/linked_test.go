package rules

import (
	"encoding/json"
	"flag"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

var seed = flag.Uint64("seed", 1, "the seed of the workspace in TestLinkedOnce")

// TestLinkedOnce checks in a random workspace that the BTF of a cc_binary is made from exactly the
// objects that the binary's link reads, and that each of these objects is converted once.
func TestLinkedOnce(t *testing.T) {
	w := newWorkspace(t)
	g := generate(t, w, *seed)
	for _, mode := range []string{"fastbuild", "opt"} {
		actions := readGraph(w, "--noinclude_commandline -c "+mode,
			`mnemonic("CppLink|CppArchive|Btf.*", deps(//...))`)
		all := map[string]bool{}
		for _, label := range g.binaries {
			linked := actions.linked(label)
			maps.Copy(all, linked)
			compare(t, mode, label+"_btf", linked, actions)
		}
		compare(t, mode, "//all:all_btf", all, actions)
		names := strings.Join(slices.Collect(maps.Keys(all)), "\n")
		for _, kind := range []string{"_tree", ".lo", ".a", "/n0.o", "-ST-", "external/other"} {
			if !strings.Contains(names, kind) {
				t.Errorf("%s: no link reads an object with %q in its name", mode, kind)
			}
		}
	}
	w.Shell("bazel build --experimental_output_paths=strip //all:all_btf //all:all_btf_own")
	shared, own := w.Read("bazel-bin/all/all_btf.btf"), w.Read("bazel-bin/all/all_btf_own.btf")
	if shared != own || len(own) < 1000 {
		t.Errorf("the BTF from shared actions has %d bytes, that from separate actions %d", len(shared),
			len(own))
	}
	if t.Failed() {
		t.Logf("to repeat this test: go test ./e2e/rules -run TestLinkedOnce -seed=%d", *seed)
	}
}

// compare checks that the BTF of a label is made from the objects in linked, both with shared and
// with separate actions.
func compare(t *testing.T, mode, label string, linked map[string]bool, actions *graph) {
	for _, suffix := range []string{"", "_own"} {
		converted := actions.converted(t, label+suffix)
		for _, file := range slices.Sorted(maps.Keys(linked)) {
			if n := converted[file]; n != 1 {
				t.Errorf("%s: %s%s: %s is linked, but converted %d times", mode, label, suffix,
					file, n)
			}
		}
		for _, file := range slices.Sorted(maps.Keys(converted)) {
			if !linked[file] {
				t.Errorf("%s: %s%s: %s is converted, but not linked", mode, label, suffix, file)
			}
		}
	}
}

// A graph has the actions that "bazel aquery" prints.
type graph struct {
	producer map[string]*node   // maps an output to the action that writes it
	byTarget map[string][]*node // maps a target to its actions
}

type node struct {
	mnemonic        string
	inputs, outputs []string
	arguments       []string // the command line, unless the query excludes it
}

// readGraph returns the actions that a query finds.
func readGraph(w *harness.Workspace, flags, query string) *graph {
	w.Helper()
	var printed struct {
		Artifacts []struct{ ID, PathFragmentID int }
		Actions   []struct {
			TargetID                  int
			Mnemonic                  string
			InputDepSetIDs, OutputIDs []int
			Arguments                 []string
		}
		Targets []struct {
			ID    int
			Label string
		}
		DepSetOfFiles []struct {
			ID                                     int
			TransitiveDepSetIDs, DirectArtifactIDs []int
		}
		PathFragments []struct {
			ID, ParentID int
			Label        string
		}
	}
	text := w.Shell("bazel aquery " + flags + " --output=jsonproto '" + query +
		"' 2>log || { cat log; false; }")
	if err := json.Unmarshal([]byte(text), &printed); err != nil {
		w.Fatalf("aquery: %v", err)
	}
	parents, names := map[int]int{}, map[int]string{}
	for _, f := range printed.PathFragments {
		parents[f.ID], names[f.ID] = f.ParentID, f.Label
	}
	files := map[int]string{}
	for _, a := range printed.Artifacts {
		for f := a.PathFragmentID; f != 0; f = parents[f] {
			files[a.ID] = path.Join(names[f], files[a.ID])
		}
	}
	sets := map[int][]string{}
	for range printed.DepSetOfFiles { // several passes are needed, because the order is arbitrary
		done := true
		for _, s := range printed.DepSetOfFiles {
			if _, known := sets[s.ID]; known {
				continue
			}
			set, complete := []string{}, true
			for _, id := range s.TransitiveDepSetIDs {
				below, known := sets[id]
				set, complete = append(set, below...), complete && known
			}
			for _, id := range s.DirectArtifactIDs {
				set = append(set, files[id])
			}
			if complete {
				sets[s.ID] = set
			}
			done = done && complete
		}
		if done {
			break
		}
	}
	labels := map[int]string{}
	for _, target := range printed.Targets {
		labels[target.ID] = target.Label
	}
	g := &graph{producer: map[string]*node{}, byTarget: map[string][]*node{}}
	for _, a := range printed.Actions {
		n := &node{mnemonic: a.Mnemonic, arguments: a.Arguments}
		seen := map[string]bool{}
		for _, id := range a.InputDepSetIDs {
			for _, file := range sets[id] {
				if !seen[file] {
					n.inputs = append(n.inputs, file)
				}
				seen[file] = true
			}
		}
		for _, id := range a.OutputIDs {
			n.outputs = append(n.outputs, files[id])
			g.producer[files[id]] = n
		}
		label := labels[a.TargetID]
		g.byTarget[label] = append(g.byTarget[label], n)
	}
	return g
}

// action returns the action of a target that has the given mnemonic and writes a file with the
// given name. If there is no such action, it returns an empty node.
func (g *graph) action(label, mnemonic, name string) *node {
	for _, n := range g.byTarget[label] {
		if n.mnemonic == mnemonic && path.Base(n.outputs[0]) == name {
			return n
		}
	}
	return &node{}
}

// object reports whether a file is an object, an archive or a directory of objects, which has no
// extension. It returns the name of the object, which is the same with and without -fPIC.
func object(file string) (string, bool) {
	file = strings.ReplaceAll(strings.Replace(file, "/_pic_objs/", "/_objs/", 1), ".pic.", ".")
	switch path.Ext(file) {
	case ".o", ".lo", ".a":
		return file, true
	}
	return file, path.Ext(file) == "" && strings.Contains(file, "/_objs/")
}

// linked returns the objects that the link of a binary reads, directly or in archives.
func (g *graph) linked(label string) map[string]bool {
	found := map[string]bool{}
	var add func(n *node)
	add = func(n *node) {
		for _, file := range n.inputs {
			if archive := g.producer[file]; archive != nil && archive.mnemonic == "CppArchive" {
				add(archive)
			} else if name, ok := object(file); ok {
				found[name] = true
			}
		}
	}
	_, name, _ := strings.Cut(label, ":")
	add(g.action(label, "CppLink", name))
	return found
}

// converted returns how often each object is converted for the BTF of a label.
func (g *graph) converted(t *testing.T, label string) map[string]int {
	found, read := map[string]int{}, map[string]bool{}
	var add func(n *node)
	add = func(n *node) {
		for _, file := range n.inputs {
			name, ok := object(file)
			switch {
			case n.mnemonic == "BtfGen" && ok:
				found[name]++
			case path.Ext(file) != ".btfo":
			case read[file]:
				t.Errorf("%s: %s is read twice", label, file)
			default:
				read[file] = true
				add(g.producer[file])
			}
		}
	}
	_, name, _ := strings.Cut(label, ":")
	link := g.action(label, "BtfLink", name+".btf")
	if link.mnemonic == "" {
		t.Fatalf("no link of %s", label)
	}
	add(link)
	return found
}
