// Package render writes what repro found as text for a terminal, as JSON for programs, and as a
// page of HTML with a graph of the causes. The text names a cause and how far it reaches:
//
//	causes:
//	  1. source file lib/a.c
//	       in 1 action directly, 3 downstream
package render

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"

	"github.com/rules-btf/rules_btf/internal/repro"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// maxCauses is how many causes a text lists, and maxActions how many actions with their changes.
const (
	maxCauses  = 50
	maxActions = 1000
)

// Text writes a report for a terminal. The lines of an action begin with its verdict; those that
// begin with a space explain it. all lists the actions that differ only through others, and those
// that are allowed to differ, too.
func Text(w io.Writer, r *repro.Report, all bool) error {
	out := bufio.NewWriter(w)
	writeCauses(out, r)
	listed := 0
	for _, verdict := range repro.Verdicts {
		if verdict == repro.Same {
			continue
		}
		for _, i := range r.Listed {
			act := &r.Actions[i]
			if act.Verdict != verdict || !all && !shown(act) {
				continue
			}
			if listed++; listed <= maxActions || all {
				writeAction(out, r, act)
			}
		}
	}
	if listed > maxActions && !all {
		line(out, "… and %d more actions; --all lists them", listed-maxActions)
	}
	if listed > 0 {
		fmt.Fprintln(out)
	}
	if err := writeTable(out, r); err != nil {
		return err
	}
	writeNotes(out, r)
	fmt.Fprintln(out, summary(r))
	return out.Flush()
}

// line writes a line of text. The names in it are of logs, which nobody checked.
func line(out io.Writer, format string, args ...any) {
	fmt.Fprintln(out, message.Printable(fmt.Sprintf(format, args...)))
}

// shown says whether a text lists an action in any case.
func shown(act *repro.Action) bool {
	return act.Allowed == "" && act.Verdict != repro.Downstream && act.Verdict != repro.CutOff
}

func writeCauses(out io.Writer, r *repro.Report) {
	if len(r.Causes) == 0 {
		return
	}
	fmt.Fprintln(out, "causes:")
	for i := range r.Causes[:min(len(r.Causes), maxCauses)] {
		c := &r.Causes[i]
		line(out, "  %d. %s", i+1, causeText(c))
		line(out, "       %s", reach(c))
	}
	if more := len(r.Causes) - maxCauses; more > 0 {
		line(out, "  … and %d more", more)
	}
	fmt.Fprintln(out)
}

// causeText is a cause in one line.
func causeText(c *repro.Cause) string {
	switch {
	case strings.HasPrefix(c.Text, "absolute path "):
		return shortHashes(c.Text) + " in " + c.Kind + "s"
	case c.Kind == string(repro.Input):
		return shortHashes(c.Text) // begins with "source file", …
	}
	return c.Kind + ": " + shortHashes(c.Text)
}

func reach(c *repro.Cause) string {
	text := fmt.Sprintf("in %s directly", message.Count(c.Direct, "action"))
	if c.Kind == string(repro.NonDeterministic) {
		text = "begins here"
	}
	if c.Downstream > 0 {
		text += fmt.Sprintf(", %d downstream", c.Downstream)
	}
	if c.Allowed {
		text += " (allowed)"
	}
	return text
}

func writeAction(out io.Writer, r *repro.Report, act *repro.Action) {
	allowed := ""
	if act.Allowed != "" {
		allowed = fmt.Sprintf(" (allowed: %s)", act.Allowed)
	}
	line(out, "%s: %s%s", act.Verdict, actionName(act), allowed)
	if act.Failed != "" {
		line(out, "  failed: %s", act.Failed)
	}
	for i := range act.Changes {
		line(out, "  %s", changeText(r, &act.Changes[i]))
	}
	if act.More > 0 {
		line(out, "  … and %s", message.Count(act.More, "more change"))
	}
	for _, o := range act.Outputs {
		line(out, "  output %s: %s vs %s", o.Path, shortHashes(o.A), shortHashes(o.B))
		for _, more := range o.More {
			line(out, "    %s", shortHashes(more))
		}
	}
}

// actionName is an action in one line.
func actionName(act *repro.Action) string {
	parts := []string{act.Mnemonic, act.Label, act.Output}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}

// changeText is a change of a key in one line.
func changeText(r *repro.Report, ch *repro.Change) string {
	text := string(ch.Kind)
	if ch.Name != "" {
		text += " " + ch.Name
	}
	switch {
	case !ch.InB && ch.A != "":
		text += fmt.Sprintf(": only in A: %s", value(ch, ch.A))
	case !ch.InA && ch.B != "":
		text += fmt.Sprintf(": only in B: %s", value(ch, ch.B))
	case ch.InA && ch.InB:
		text += fmt.Sprintf(": %s vs %s", value(ch, ch.A), value(ch, ch.B))
	}
	if ch.From >= 0 {
		text += fmt.Sprintf(" (an output of %s, which differs)", actionName(&r.Actions[ch.From]))
	} else if ch.Note != "" {
		text += " (" + ch.Note + ")"
	}
	return text
}

// maxValue is how many bytes of an argument or variable are shown.
const maxValue = 400

// value is a value in a line: quoted if it is the user's.
func value(ch *repro.Change, s string) string {
	switch ch.Kind {
	case repro.Argument, repro.Environment, repro.Platform:
		if len(s) > maxValue {
			return fmt.Sprintf("%q… (%d bytes)", s[:maxValue], len(s))
		}
		return fmt.Sprintf("%q", s)
	}
	return shortHashes(s)
}

var longHash = regexp.MustCompile(`\b[0-9a-f]{32,}\b`)

// shortHashes cuts digests to what tells them apart for people.
func shortHashes(s string) string {
	return longHash.ReplaceAllStringFunc(s, func(h string) string { return h[:12] + "…" })
}

func writeTable(out io.Writer, r *repro.Report) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	longest := 0
	for i := range r.Counts {
		longest = max(longest, len(message.Printable(r.Counts[i].Mnemonic)))
	}
	fmt.Fprintf(table, "%*s\tactions\t", longest, "")
	for _, v := range repro.Verdicts {
		fmt.Fprintf(table, "%s\t", v)
	}
	fmt.Fprint(table, "cached in A\tin B\t\n")
	rows := append([]repro.Count{}, r.Counts...)
	if len(rows) != 1 {
		rows = append(rows, r.Total)
	}
	for i := range rows {
		c := &rows[i]
		name := message.Printable(c.Mnemonic)
		if name == "" {
			name = "all"
		}
		fmt.Fprintf(table, "%-*s\t%d\t", longest, name, c.Total)
		for _, v := range repro.Verdicts {
			n := "."
			if c.Verdicts[v] > 0 {
				n = fmt.Sprint(c.Verdicts[v])
			}
			fmt.Fprintf(table, "%s\t", n)
		}
		fmt.Fprintf(table, "%s\t%s\t\n", ratio(c.Hits[0], c.Spawns[0]), ratio(c.Hits[1], c.Spawns[1]))
	}
	return table.Flush()
}

// ratio is a part of a whole in percent, such as "97%". It says 100% of the whole alone.
func ratio(n, of int) string {
	if of == 0 {
		return "."
	}
	return fmt.Sprintf("%d%%", n*100/of)
}

// notes are what a reader of a report must know besides.
func notes(r *repro.Report) []string {
	var notes []string
	for _, x := range r.Renamed {
		notes = append(notes, fmt.Sprintf("bazel-out/%s of A is compared with bazel-out/%s of B", x.A, x.B))
	}
	if n := r.Total.SameCached; n > 0 {
		notes = append(notes, fmt.Sprintf("%d actions with the verdict same came from a cache: if the"+
			" other build had filled it, they ran once, and nothing was compared", n))
	}
	for i := range r.Allowances {
		if a := &r.Allowances[i]; a.Matched == 0 {
			notes = append(notes, "this allowance matches nothing: "+a.String())
		}
	}
	return notes
}

func writeNotes(out io.Writer, r *repro.Report) {
	for _, note := range notes(r) {
		line(out, "note: %s", note)
	}
}

// summary is a report in one line.
func summary(r *repro.Report) string {
	differ, allowed := differing(r)
	switch {
	case r.Total.Total == 0:
		return "the logs have no actions to compare"
	case differ+allowed == 0:
		return fmt.Sprintf("same: %s", message.Count(r.Total.Total, "action"))
	}
	text := fmt.Sprintf("%d of %s differ", differ, message.Count(r.Total.Total, "action"))
	if allowed > 0 {
		text += fmt.Sprintf(", and %d more that are allowed to", allowed)
	}
	return text
}

// differing counts the actions that differ, without and with an allowance.
func differing(r *repro.Report) (differ, allowed int) {
	for _, i := range r.Listed {
		switch act := &r.Actions[i]; {
		case act.Verdict == repro.Same:
		case act.Allowed != "":
			allowed++
		default:
			differ++
		}
	}
	return differ, allowed
}
