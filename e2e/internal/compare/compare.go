// Package compare compares two BTF blobs made from the same ELF file, one by our tools ("ours") and
// one by an oracle, and explains the differences.
package compare

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"github.com/rules-btf/rules_btf/e2e/internal/content"
)

// Kind is a kind of difference.
type Kind string

// The kinds of difference.
const (
	OnlyOurs   Kind = "only ours"
	OnlyOracle Kind = "only oracle"
	Differs    Kind = "differs"
	// Leads means that the two texts are equal, but lead to types that differ. The function
	// Contents doesn't find such differences.
	Leads Kind = "leads elsewhere"
)

// Difference is a name whose definitions differ between the two sides.
type Difference struct {
	Class  content.Class
	Kind   Kind
	Name   string
	Ours   []string // the texts of definitions that only our BTF has, sorted
	Oracle []string // the texts of definitions that only the oracle's BTF has, sorted
	Reason string   // why the difference is expected; "" as long as no reason is known
}

// Result is the result of Contents.
type Result struct {
	Differences []Difference          // sorted by class, kind and name
	Ours        map[content.Class]int // the number of names in our BTF
	Oracle      map[content.Class]int // the number of names in the oracle's BTF
}

// Contents compares the contents of our BTF with those of the oracle's BTF.
func Contents(ours, oracle *content.Contents) *Result {
	r := &Result{Ours: map[content.Class]int{}, Oracle: map[content.Class]int{}}
	for _, class := range content.Classes {
		a, b := ours.Definitions[class], oracle.Definitions[class]
		r.Ours[class], r.Oracle[class] = len(a), len(b)
		for name, texts := range a {
			other, ok := b[name]
			d := Difference{Class: class, Name: name, Kind: Differs, Ours: minus(texts, other),
				Oracle: minus(other, texts)}
			if !ok {
				d.Kind = OnlyOurs
			}
			if len(d.Ours)+len(d.Oracle) > 0 {
				r.Differences = append(r.Differences, d)
			}
		}
		for name, texts := range b {
			if _, ok := a[name]; !ok {
				r.Differences = append(r.Differences, Difference{Class: class, Kind: OnlyOracle, Name: name,
					Oracle: texts})
			}
		}
	}
	rank := map[content.Class]int{}
	for i, c := range content.Classes {
		rank[c] = i
	}
	sort.Slice(r.Differences, func(i, j int) bool {
		x, y := &r.Differences[i], &r.Differences[j]
		switch {
		case x.Class != y.Class:
			return rank[x.Class] < rank[y.Class]
		case x.Kind != y.Kind:
			return x.Kind < y.Kind
		}
		return x.Name < y.Name
	})
	return r
}

func minus(a, b []string) []string {
	has := make(map[string]bool, len(b))
	for _, t := range b {
		has[t] = true
	}
	var out []string
	for _, t := range a {
		if !has[t] {
			out = append(out, t)
		}
	}
	return out
}

// Explain sets the reason of each unexplained difference to the result of the function why.
func (r *Result) Explain(why func(*Difference) string) {
	for i := range r.Differences {
		if d := &r.Differences[i]; d.Reason == "" {
			d.Reason = why(d)
		}
	}
}

// Unexplained returns the differences that have no reason, in the given classes or, by default,
// all.
func (r *Result) Unexplained(classes ...content.Class) []Difference {
	var out []Difference
	for _, d := range r.Differences {
		if d.Reason == "" && (len(classes) == 0 || slices.Contains(classes, d.Class)) {
			out = append(out, d)
		}
	}
	return out
}

// Print writes a table of counts, and then the differences, grouped by class, kind and reason. It
// writes at most limit differences from each group; if limit is negative, it writes all of them.
func (r *Result) Print(w io.Writer, limit int) {
	fmt.Fprintln(w, "| class | ours | oracle | only ours | only oracle | differs | explained |")
	fmt.Fprintln(w, "|---|--:|--:|--:|--:|--:|--:|")
	for _, class := range content.Classes {
		n := map[Kind]int{}
		explained := 0
		for _, d := range r.Differences {
			if d.Class == class {
				n[d.Kind]++
				if d.Reason != "" {
					explained++
				}
			}
		}
		fmt.Fprintf(w, "| %s | %d | %d | %d | %d | %d | %d |\n", class, r.Ours[class], r.Oracle[class],
			n[OnlyOurs], n[OnlyOracle], n[Differs], explained)
	}
	type group struct {
		class  content.Class
		kind   Kind
		reason string
	}
	groups := map[group][]Difference{}
	var order []group
	for _, d := range r.Differences {
		g := group{d.Class, d.Kind, general(d.Reason)}
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], d)
	}
	for _, g := range order {
		reason := g.reason
		if reason == "" {
			reason = "UNEXPLAINED"
		}
		fmt.Fprintf(w, "\n%s, %s: %s: %d\n", g.class, g.kind, reason, len(groups[g]))
		for i, d := range groups[g] {
			if limit >= 0 && i == limit {
				fmt.Fprintf(w, "  ... and %d more\n", len(groups[g])-i)
				break
			}
			fmt.Fprintf(w, "  %s\n", d.Name)
			if d.Reason == "" {
				printSide(w, "ours  ", d.Ours)
				printSide(w, "oracle", d.Oracle)
			}
		}
	}
}

// general returns the part of a reason before the first colon; only the rest may contain names.
func general(reason string) string {
	s, _, _ := strings.Cut(reason, ":")
	return s
}

func printSide(w io.Writer, side string, texts []string) {
	for _, t := range texts {
		if len(t) > 600 {
			t = t[:600] + "..."
		}
		fmt.Fprintf(w, "    %s %s\n", side, t)
	}
}
