// Btfgen makes BTF from the DWARF of ELF files. Each command has its own file; see btfgen --help.
package main

import (
	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
)

func main() { cli.Main(program) }

func program() *cobra.Command {
	return cli.NewProgram("btfgen", "btfgen turns the DWARF of ELF files into BTF.",
		elfCommand(),
		objectCommand(),
		factsCommand(),
		inlineCommand(),
		modulesCommand(),
	)
}
