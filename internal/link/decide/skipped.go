package decide

import (
	"bufio"
	"fmt"
	"io"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Skipped is a function or variable of the linked file that is not encoded. The reasons for
// functions are in package params.
type Skipped struct{ Name, Reason string }

// These are the reasons for not encoding a variable.
const (
	reasonNoVariable = "no variable of file scope in the debug information"
	reasonName       = "name is not an identifier"
	reasonNoSize     = "size 0"
	reasonSeveral    = "several static variables of this name"
	reasonDeclared   = "its type is only declared"
)

// Variable reports whether s is a variable rather than a function.
func (s Skipped) Variable() bool {
	switch s.Reason {
	case reasonNoVariable, reasonName, reasonNoSize, reasonSeveral, reasonDeclared:
		return true
	}
	return false
}

func (d *decider) skip(name, reason string) {
	d.Skipped = append(d.Skipped, Skipped{name, reason})
}

// WriteSkipped writes a line for each item of the list: its name, a tab, the reason.
// Rule: --skipped: the list. Source: pahole btf_encoder__log_func_skip.
func WriteSkipped(w io.Writer, list []Skipped) error {
	b := bufio.NewWriter(w)
	for _, s := range list {
		fmt.Fprintf(b, "%s\t%s\n", message.Printable(s.Name), s.Reason)
	}
	return b.Flush()
}
