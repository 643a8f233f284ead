package render

import (
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Title is a difference in one line: which type differs, and what has changed.
func Title(d *diff.Difference) string {
	switch {
	case d.Class != diff.Differs && (d.Class != diff.Indirect || len(d.Changes) == 0):
		return d.String() + because(d.FollowUps)
	case len(d.Changes) == 1 && d.Changes[0].Kind != diff.Size:
		s := d.Type + ": " + Sentence(d.Changes[0])
		return s + because(d.FollowUps)
	}
	return d.Type + ": " + Counts(d) + because(d.FollowUps)
}

// Counts says how many changes of each kind there are, after the sizes: "size 4 → 8; 1 added".
func Counts(d *diff.Difference) string {
	var parts []string
	counts := map[diff.ChangeKind]int{}
	for _, c := range d.Changes {
		if c.Kind == diff.Size {
			parts = append(parts, Sentence(c))
			continue
		}
		counts[c.Kind]++
	}
	for _, kind := range []diff.ChangeKind{diff.Added, diff.Removed, diff.Renamed, diff.Retyped,
		diff.Resized, diff.Moved, diff.Value, diff.Encoding, diff.Linkage, diff.Section,
		diff.Reordered, diff.Declared, diff.Other} {
		switch n := counts[kind]; {
		case n == 0:
		case kind == diff.Value:
			parts = append(parts, message.Count(n, "different value"))
		case kind == diff.Section:
			parts = append(parts, fmt.Sprint(n, " in a different section"))
		default:
			parts = append(parts, fmt.Sprint(n, " ", kind))
		}
	}
	if d.Compatible {
		parts = append(parts, "compatible")
	}
	return strings.Join(parts, "; ")
}

func because(followUps int) string {
	switch followUps {
	case 0:
		return ""
	case 1:
		return "; 1 more type differs only because of it"
	}
	return fmt.Sprintf("; %d more types differ only because of it", followUps)
}

// Sentence is a change in one line: "member bar.baz: type u32 → u64".
func Sentence(c diff.Change) string {
	var s string
	switch {
	case c.Kind == diff.Added:
		s = "added: " + c.After.Text
	case c.Kind == diff.Removed:
		s = "removed: " + c.Before.Text
	case c.After == nil:
		s = c.Before.Text
	default:
		s = fmt.Sprintf("%s %s → %s", c.Noun(), c.Before.Text, c.After.Text)
	}
	if c.Where == "" {
		return s
	}
	return c.Where + ": " + s
}

// followUp is the title of a difference below the one that causes it.
func followUp(d *diff.Difference) string {
	return strings.TrimPrefix(Title(d), string(diff.Indirect)+": ")
}

// ModuleCounts says how many modules differ.
func ModuleCounts(list []diff.Module) string {
	counts := map[diff.Class]int{}
	for _, m := range list {
		counts[m.Class]++
	}
	return fmt.Sprintf("modules: %d only in A, %d only in B, %d differ, "+
		"%d differ only because of types to which they refer", counts[diff.OnlyA],
		counts[diff.OnlyB], counts[diff.Differs], counts[diff.Indirect])
}

// ModuleTitle is a module in one line: whether both sides have it, and how many types differ.
func ModuleTitle(m *diff.Module) string {
	title := "module " + message.Printable(m.Name) + ": "
	if m.Class == diff.OnlyA || m.Class == diff.OnlyB {
		return title + string(m.Class)
	}
	compatible := 0
	for _, k := range m.Summary.Kinds {
		compatible += k.Compatible
	}
	s := m.Summary
	var parts []string
	for _, x := range []struct {
		n    int
		what string
	}{{s.OnlyA, "only in A"}, {s.OnlyB, "only in B"}, {s.Differs + s.Forward, "changed"},
		{compatible, "of these compatible"}, {s.Indirect, "changed only because of others"}} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprint(x.n, " ", x.what))
		}
	}
	return title + strings.Join(parts, ", ")
}
