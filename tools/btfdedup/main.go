// Btfdedup merges, links, embeds, checks and compares BTF. Each verb is its own file; see
// btfdedup --help.
package main

import "github.com/rules-btf/rules_btf/internal/command/cli"

func main() {
	program().Main()
}

func program() *cli.Program {
	return &cli.Program{
		Name: "btfdedup",
		Summary: "btfdedup turns BTF objects into the final BTF of a kernel or module, puts BTF into" +
			" files,\nchecks it and compares it.",
		Verbs: []cli.Verb{
			mergeVerb(),
			linkVerb(),
			modulesVerb(),
			sharedVerb(),
			indexVerb(),
			importVerb(),
			embedVerb(),
			resolveIDsVerb(),
			relocateVerb(),
			verifyVerb(),
			diffVerb(),
			conflictsVerb(),
			archiveVerb(),
			reportVerb(),
			dumpVerb(),
			statsVerb(),
			extractVerb(),
		},
	}
}
