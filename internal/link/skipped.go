package link

import (
	"bufio"
	"fmt"
	"io"
)

// WriteSkipped writes the list as text: a line for each name, a tab, and the reason.
func WriteSkipped(w io.Writer, list []Skipped) error {
	b := bufio.NewWriter(w)
	for _, s := range list {
		fmt.Fprintf(b, "%s\t%s\n", s.Name, s.Reason)
	}
	return b.Flush()
}
