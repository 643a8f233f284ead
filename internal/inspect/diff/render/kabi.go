package render

import (
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// KABI has the lines that only a report on the kABI has.
type KABI struct {
	Symbols int    // how many symbols have been compared
	Missing string // which symbols could not be compared, or ""
	Verdict string // the last line

	last string // the heading under which the last difference is
}

// kabi writes a summary.
func (t *text) kabi(k *KABI, s diff.Summary) {
	fmt.Fprintln(t, k.summary(s))
	if k.Missing != "" {
		fmt.Fprintln(t, k.Missing)
	}
}

func (k *KABI) summary(s diff.Summary) string {
	text := fmt.Sprintf("%s; what they reach: %d equal", message.Count(k.Symbols, "symbol"), s.Equal)
	if !s.Same() {
		text += fmt.Sprintf(", %d differ, %d differ only because of those", s.Differs+s.Forward,
			s.Indirect)
	}
	return text
}

// heading returns the heading above a difference, if it isn't the one above the difference before.
func (k *KABI) heading(d *diff.Difference) string {
	if k == nil || d.Class == diff.Indirect {
		return ""
	}
	heading := "incompatible:"
	switch {
	case d.Compatible:
		heading = "compatible:"
	case d.Allowed != "":
		heading = "allowed:"
	}
	if heading == k.last {
		return ""
	}
	k.last = heading
	return heading
}

// notes says how symbols reach the type of a difference, and why its changes are compatible or not.
func (k *KABI) notes(d *diff.Difference) (list []string) {
	if k == nil || d.Class == diff.Indirect {
		return nil
	}
	if d.Kind != "func" && d.Kind != "var" {
		list = append(list, fmt.Sprintf("reached by %d of %s: %s", d.Symbols,
			message.Count(k.Symbols, "symbol"), d.Path))
	}
	if d.Allowed != "" {
		list = append(list, "allowed: "+d.Allowed)
	}
	type verdict struct {
		breaks bool
		reason string
	}
	where := map[verdict][]string{}
	var order []verdict
	for _, c := range d.Changes {
		v := verdict{c.Breaks, c.Reason}
		if c.Reason == "" {
			continue
		}
		if _, ok := where[v]; !ok {
			order = append(order, v)
			where[v] = nil
		}
		if c.Where != "" {
			name := strings.TrimPrefix(strings.TrimPrefix(c.Where, "member "), "enumerator ")
			where[v] = append(where[v], name)
		}
	}
	for _, v := range order {
		line := "compatible: "
		if v.breaks {
			line = "incompatible: "
		}
		const most = 5
		names := where[v]
		if more := len(names) - most; more > 0 {
			names = append(names[:most:most], fmt.Sprintf("%d more", more))
		}
		if len(names) > 0 {
			line += strings.Join(names, ", ") + ": "
		}
		list = append(list, line+v.reason)
	}
	return list
}
