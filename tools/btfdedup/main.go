// Btfdedup merges, links, embeds, checks and compares BTF. Each command has its own file; see
// btfdedup --help.
package main

import (
	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
)

func main() { cli.Main(program) }

func program() *cobra.Command {
	return cli.NewProgram("btfdedup",
		"btfdedup turns BTF objects into the final BTF of a kernel or module, puts BTF into files,\n"+
			"checks it and compares it.",
		mergeCommand(),
		linkCommand(),
		indexCommand(),
		importCommand(),
		embedCommand(),
		resolveIDsCommand(),
		relocateCommand(),
		verifyCommand(),
		diffCommand(),
		conflictsCommand(),
		archiveCommand(),
		dumpCommand(),
		statsCommand(),
		fileCommand(),
	)
}
