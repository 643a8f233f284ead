// Package render writes repro's reports: as text for a terminal, as JSON for programs, and as an
// HTML page, which shows trees of the actions that each cause affects. The text lists each cause
// and its reach:
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

// A text lists at most maxCauses causes, and at most maxActions actions with their changes.
const (
	maxCauses  = 50
	maxActions = 1000
)

// Text writes a report for a terminal. The first line of an action begins with its verdict;
// indented lines explain the verdict. If the parameter all is set, Text also lists actions that
// differ only because of others, or are allowed to differ.
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

// line writes a line of text. It escapes names from logs, because these may contain anything.
func line(out io.Writer, format string, args ...any) {
	fmt.Fprintln(out, message.Printable(fmt.Sprintf(format, args...)))
}

// shown reports whether Text lists an action even if its parameter all is not set.
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

// actionName returns the mnemonic, label and first output of an action as one line.
func actionName(act *repro.Action) string {
	parts := []string{act.Mnemonic, act.Label, act.Output}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}

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

// value returns the text of a value: quoted if the value is an argument, variable or property.
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

// shortHashes shortens the digests in a text, but not so much that people can't tell them apart.
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

// ratio returns a percentage, such as "97%". It rounds down, so 100% means all.
func ratio(n, of int) string {
	if of == 0 {
		return "."
	}
	return fmt.Sprintf("%d%%", n*100/of)
}

func notes(r *repro.Report) []string {
	var notes []string
	for _, x := range r.Renamed {
		notes = append(notes, fmt.Sprintf("bazel-out/%s of A is compared with bazel-out/%s of B", x.A, x.B))
	}
	if n := r.Total.SameCached; n > 0 {
		notes = append(notes, fmt.Sprintf("the results of %d \"same\" actions came from a cache: if the"+
			" other build filled that cache, they ran only once, and nothing was compared", n))
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
		text += fmt.Sprintf("; %d more differ but are allowed to", allowed)
	}
	return text
}

// differing counts the actions that differ: those without an allowance, and those with one.
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
