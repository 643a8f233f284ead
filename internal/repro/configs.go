package repro

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/repro/execlog"
)

const outRoot = "bazel-out/"

// Renamed is a configuration whose output directory has different names in the two builds, such as
// k8-fastbuild in A and k8-opt in B.
type Renamed struct {
	A string `json:"a"`
	B string `json:"b"`
}

// renames lists both names of the configurations that have different names in A and B.
type renames []Renamed

// apply replaces the names of A's output directories in a text with B's names.
func (r renames) apply(text string) string {
	for _, x := range r {
		if strings.Contains(text, x.A) {
			text = replaceDirectory(text, outRoot+x.A, outRoot+x.B)
		}
	}
	return text
}

// replaceDirectory replaces a directory's name in a text, but not as part of longer names.
func replaceDirectory(text, old, new string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, old)
		if i < 0 {
			break
		}
		end := i + len(old)
		b.WriteString(text[:i])
		if end < len(text) && nameByte(text[end]) {
			b.WriteString(old)
		} else {
			b.WriteString(new)
		}
		text = text[end:]
	}
	return b.String() + text
}

func nameByte(c byte) bool {
	return c == '-' || c == '_' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' ||
		'A' <= c && c <= 'Z'
}

// configurationOf returns the configuration to which a path belongs, or "" if there is none.
func configurationOf(path string) string {
	if rest, ok := strings.CutPrefix(path, outRoot); ok {
		if name, _, ok := strings.Cut(rest, "/"); ok {
			return name
		}
	}
	return ""
}

// findRenames pairs each configuration that only A has with a configuration that only B has: the
// one with which it has the most actions in common.
func findRenames(a, b *execlog.Log) renames {
	inA, inB := configurations(a), configurations(b)
	maps.DeleteFunc(inA, func(name string, _ map[string]bool) bool { return inB[name] != nil })
	all := configurations(a)
	maps.DeleteFunc(inB, func(name string, _ map[string]bool) bool { return all[name] != nil })
	type vote struct {
		Renamed
		common int
	}
	var votes []vote
	for nameA, actions := range inA {
		for nameB, others := range inB {
			n := 0
			for action := range actions {
				if others[action] {
					n++
				}
			}
			if n > 0 {
				votes = append(votes, vote{Renamed{nameA, nameB}, n})
			}
		}
	}
	slices.SortFunc(votes, func(x, y vote) int {
		return cmp.Or(cmp.Compare(y.common, x.common), cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B))
	})
	var found renames
	for _, v := range votes {
		if inA[v.A] != nil && inB[v.B] != nil {
			found = append(found, v.Renamed)
			inA[v.A], inB[v.B] = nil, nil
		}
	}
	return found
}

// maxConfigurations limits how many configurations are looked at; a build has only a few.
const maxConfigurations = 64

// configurations returns the actions of each configuration, as label, mnemonic and output.
func configurations(log *execlog.Log) map[string]map[string]bool {
	found := map[string]map[string]bool{}
	for i := range log.Spawns {
		s := &log.Spawns[i]
		if len(s.Outputs) == 0 {
			continue
		}
		path := s.Outputs[0].Path
		name := configurationOf(path)
		if name == "" {
			continue
		}
		if found[name] == nil {
			if len(found) == maxConfigurations {
				continue
			}
			found[name] = map[string]bool{}
		}
		found[name][s.Label+"\x00"+s.Mnemonic+"\x00"+withoutConfiguration(path)] = true
	}
	return found
}
