package main

import (
	"bufio"
	"io"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// reportSchema is the version of what verify prints with --format=json. It increases when a field
// is removed or changes its meaning, not when a field is added. docs/command-line.md describes the
// fields.
const reportSchema = 1

// writeJSON writes a report as one object, with its keys in the order of the fields.
func writeJSON(to io.Writer, report any) error {
	w := bufio.NewWriter(to)
	if err := message.WriteJSON(w, report); err != nil {
		return err
	}
	return w.Flush()
}
