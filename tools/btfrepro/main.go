// Btfrepro compares two builds by their execution logs, action by action. Each command is its
// own file; see btfrepro --help.
package main

import (
	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
)

func main() { cli.Main(program) }

func program() *cobra.Command {
	return cli.NewProgram("btfrepro",
		"btfrepro says whether two builds of the same targets are the same, and where what differs\n"+
			"begins. It reads Bazel's execution logs.",
		diffCommand(),
		runCommand(),
	)
}
