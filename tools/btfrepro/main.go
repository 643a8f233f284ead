// Btfrepro compares two builds by their execution logs, action by action. Each verb is its
// own file; see btfrepro --help.
package main

import "github.com/rules-btf/rules_btf/internal/command/cli"

func main() {
	program().Main()
}

func program() *cli.Program {
	return &cli.Program{
		Name: "btfrepro",
		Summary: "btfrepro says whether two builds of the same targets are the same, and where what" +
			" differs\nbegins. It reads Bazel's execution logs.",
		Verbs: []cli.Verb{
			diffVerb(),
			runVerb(),
		},
	}
}
