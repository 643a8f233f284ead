// Btfrepro compares two builds by their execution logs, action by action. Each command has its own
// file; see btfrepro --help.
package main

import (
	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
)

func main() { cli.Main(program) }

func program() *cobra.Command {
	return cli.NewProgram("btfrepro",
		"btfrepro compares two builds of the same targets, and finds where differences begin. It reads\n"+
			"Bazel's execution logs.",
		diffCommand(),
		runCommand(),
	)
}
