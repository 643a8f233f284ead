// Btfgen makes BTF from the DWARF of ELF files. Each verb is its own file; see btfgen --help.
package main

import "github.com/rules-btf/rules_btf/internal/command/cli"

func main() {
	program().Main()
}

func program() *cli.Program {
	return &cli.Program{
		Name:    "btfgen",
		Summary: "btfgen turns the DWARF of ELF files into BTF.",
		Verbs: []cli.Verb{
			elfVerb(),
			objectVerb(),
			factsVerb(),
		},
	}
}
