// Package render writes what package diff finds, as text for a terminal or a file. As an example,
// the text for a struct with a new member:
//
//	struct opts: size 4 → 8; 1 added; 1 more type differs only because of it
//	    struct opts {
//	        int level;                       /*     0     4 */
//	+       int flags;                       /*     4     4 */
//	-   };                                   /* size: 4 */
//	+   };                                   /* size: 8 */
package render

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Options says how the text looks.
type Options struct {
	Limit int // how many differences are written at most, not counting follow-ups; 0: all
	KABI  *KABI
}

// overview is how many differences are listed by their titles before all of them are described.
const overview = 15

// Text writes a comparison: the summary, then the differences.
func Text(w io.Writer, r diff.Result, opts Options) error {
	out := &text{bufio.NewWriter(w)}
	if opts.KABI == nil {
		out.summary(r.Summary)
	} else {
		out.kabi(opts.KABI, r.Summary)
	}
	if len(r.Modules) > 0 {
		fmt.Fprintln(out, ModuleCounts(r.Modules))
	}
	own, followUps := split(r.Differences)
	left := 0
	if opts.Limit > 0 && len(own) > opts.Limit {
		left = len(own) - opts.Limit
		own = own[:opts.Limit]
	}
	if len(own) > overview {
		fmt.Fprintln(out, "\nthe most important differences:")
		for i := range own[:overview] {
			fmt.Fprintln(out, "   ", Title(&own[i]))
		}
	}
	short := false // whether the difference before took only one line
	for i := range own {
		d := &own[i]
		if heading := opts.KABI.heading(d); heading != "" {
			fmt.Fprintf(out, "\n%s\n", heading)
			short = false
		}
		sentences, rows := body(d)
		sentences = append(opts.KABI.notes(d), sentences...)
		long := len(sentences)+len(rows) > 0
		if long || !short {
			fmt.Fprintln(out)
		}
		short = !long
		fmt.Fprintln(out, Title(d))
		for _, s := range sentences {
			fmt.Fprintf(out, "    %s\n", s)
		}
		for _, l := range lines(rows) {
			fmt.Fprintln(out, l)
		}
		for _, f := range followUps[d.Type] {
			fmt.Fprintf(out, "    because of it: %s\n", followUp(f))
		}
		delete(followUps, d.Type) // another definition with this name may follow
	}
	if left > 0 {
		fmt.Fprintf(out, "\n%s left out; --limit=0 prints all\n", message.Count(left, "more difference"))
	}
	if len(r.Modules) > 0 {
		fmt.Fprintln(out)
	}
	for i := range r.Modules {
		fmt.Fprintln(out, ModuleTitle(&r.Modules[i]))
	}
	if opts.KABI != nil {
		fmt.Fprintf(out, "\n%s\n", opts.KABI.Verdict)
	}
	return out.Flush()
}

// split separates the differences that are caused by others in the list. The result followUps has
// them by the type that causes them.
func split(
	list []diff.Difference,
) (own []diff.Difference, followUps map[string][]*diff.Difference) {
	followUps = map[string][]*diff.Difference{}
	for i, d := range list {
		if d.Because == "" {
			own = append(own, d)
		} else {
			followUps[d.Because] = append(followUps[d.Because], &list[i])
		}
	}
	return own, followUps
}

type text struct{ *bufio.Writer }

func (t *text) summary(s diff.Summary) {
	fmt.Fprintln(t, s)
	if s.Same() {
		return
	}
	fmt.Fprintf(t, "\n%-12s%11s%11s%9s%13s%12s\n", "kind", "only in A", "only in B", "changed",
		"compatible", "follow-ups")
	for _, k := range s.Kinds {
		fmt.Fprintf(t, "%-12s%11d%11d%9d%13d%12d\n", k.Kind, k.OnlyA, k.OnlyB, k.Changed, k.Compatible,
			k.Indirect)
	}
}

// body describes a difference below its title: changes in words, and the type's definition on both
// sides.
func body(d *diff.Difference) (sentences []string, rows []Row) {
	var lines []diff.Line
	if d.Class == diff.Differs || d.Class == diff.Forward {
		lines = d.Lines()
	}
	shown := slices.ContainsFunc(lines, func(l diff.Line) bool { return l.Changed() || l.Moved() })
	if shown {
		rows = Fold(lines)
	}
	if len(d.Changes) == 1 && d.Changes[0].Kind != diff.Size {
		return nil, rows // the title has this change
	}
	for _, c := range d.Changes {
		moved := d.Kind == "datasec" && c.Kind == diff.Moved
		if c.Kind != diff.Size && !moved && (!shown || inWords[c.Kind]) {
			sentences = append(sentences, Sentence(c))
		}
	}
	return sentences, rows
}

// inWords are the kinds of changes that a type's definition doesn't show.
var inWords = map[diff.ChangeKind]bool{diff.Linkage: true, diff.Encoding: true,
	diff.Reordered: true, diff.Declared: true, diff.Other: true}
