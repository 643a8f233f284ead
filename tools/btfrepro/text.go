package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/rules-btf/rules_btf/internal/repro"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// A text lists at most maxCauses causes, and at most maxActions actions with their changes.
const (
	maxCauses  = 50
	maxActions = 1000
)

// writeText writes a report for a terminal. It lists each cause and its reach:
//
//	causes:
//	  1. source file lib/a.c
//	       in 1 action directly, 3 downstream
//
// The first line of an action begins with its verdict; indented lines explain the verdict. If the
// parameter all is set, actions are also listed that differ only because of others, or are allowed
// to differ.
func writeText(w io.Writer, r *repro.Report, all bool) error {
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
	if r.Cached > 0 {
		fmt.Fprintf(out, "note: the results of %d \"same\" actions came from a cache: if the other build "+
			"filled that cache, they ran only once, and nothing was compared\n", r.Cached)
	}
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
	if c.Kind == string(repro.Input) {
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
	case !ch.InB:
		text += ": only in A" + value(ch, ": ", ch.A)
	case !ch.InA:
		text += ": only in B" + value(ch, ": ", ch.B)
	default:
		text += value(ch, ": ", ch.A) + value(ch, " vs ", ch.B)
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

// value returns a separator and a value: quoted if the value is an argument, variable or property.
// It returns "" for the only value of an output's name.
func value(ch *repro.Change, before, s string) string {
	switch {
	case ch.Kind == repro.Outputs:
		return ""
	case ch.Kind == repro.Argument, ch.Kind == repro.Environment, ch.Kind == repro.Platform:
		if len(s) > maxValue {
			return before + fmt.Sprintf("%q… (%d bytes)", s[:maxValue], len(s))
		}
		return before + fmt.Sprintf("%q", s)
	}
	return before + shortHashes(s)
}

var longHash = regexp.MustCompile(`\b[0-9a-f]{32,}\b`)

// shortHashes shortens the digests in a text, but not so much that people can't tell them apart.
func shortHashes(s string) string {
	return longHash.ReplaceAllStringFunc(s, func(h string) string { return h[:12] + "…" })
}

// summary says in one line how many actions there are, with the number for each verdict.
func summary(r *repro.Report) string {
	differ, allowed := r.Differing()
	switch {
	case len(r.Listed) == 0:
		return "the logs have no actions to compare"
	case differ+allowed == 0:
		return fmt.Sprintf("same: %s", message.Count(len(r.Listed), "action"))
	}
	text := fmt.Sprintf("%d of %s differ", differ, message.Count(len(r.Listed), "action"))
	if allowed > 0 {
		text += fmt.Sprintf("; %d more differ but are allowed to", allowed)
	}
	var counts []string
	for _, v := range repro.Verdicts {
		if n := r.Counts[v]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, v))
		}
	}
	return text + " (" + strings.Join(counts, ", ") + ")"
}
