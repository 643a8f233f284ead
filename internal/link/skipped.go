package link

import (
	"bufio"
	"io"
)

// Variable tells whether a variable is meant rather than a function.
func (s Skipped) Variable() bool {
	return s.Reason == reasonNoVariable || s.Reason == reasonName || s.Reason == reasonSeveral
}

// WriteSkipped writes a line for each function and variable that is not encoded: its name, a tab,
// the reason.
func WriteSkipped(w io.Writer, list []Skipped) error {
	b := bufio.NewWriter(w)
	for _, s := range list {
		b.WriteString(s.Name)
		b.WriteByte('\t')
		b.WriteString(s.Reason)
		b.WriteByte('\n')
	}
	return b.Flush()
}
