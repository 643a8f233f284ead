// Btfcore is for BPF programs that run on many kernels. It extracts what the programs need from a
// kernel, makes minimal BTF, and reports which kernels the programs load on. Each command has its
// own file; see btfcore --help.
package main

import (
	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
)

func main() { cli.Main(program) }

func program() *cobra.Command {
	return cli.NewProgram("btfcore",
		"btfcore is for BPF programs that run on many kernels (CO-RE). It extracts what they need from\n"+
			"a kernel, makes minimal BTF for kernels without BTF, and reports which kernels they load on.",
		needsCommand(),
		minCommand(),
		checkCommand(),
		diffCommand(),
	)
}
