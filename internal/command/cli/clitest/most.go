package clitest

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// mostFlags has how many flags each verb may have, without --help. Before you raise a number, look
// for a flag that the new one replaces.
var mostFlags = map[string]int{
	"btfgen elf": 14, "btfgen object": 10, "btfgen facts": 8, "btfgen inline": 11,
	"btfgen modules": 16,

	"btfdedup merge": 5, "btfdedup link": 10, "btfdedup index": 5, "btfdedup import": 6,
	"btfdedup embed": 16, "btfdedup resolve-ids": 10,
	"btfdedup relocate": 6, "btfdedup verify": 11, "btfdedup diff": 13, "btfdedup conflicts": 6,
	"btfdedup archive": 9, "btfdedup dump": 11, "btfdedup stats": 6, "btfdedup file": 4,

	"btfcore needs": 4, "btfcore min": 10, "btfcore check": 9, "btfcore diff": 4,

	"btfrepro diff": 9, "btfrepro run": 10,
}

// fewFlags checks the number of a command's flags.
func fewFlags(t *testing.T, c *cobra.Command) {
	t.Helper()
	n := 0
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			n++
		}
	})
	if most, ok := mostFlags[c.CommandPath()]; !ok || n > most {
		t.Errorf("%s has %d flags, but mostFlags allows %d", c.CommandPath(), n, most)
	}
}
