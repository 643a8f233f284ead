// Btfrepro compares two builds by their execution logs, action by action. Each command has its own
// file; see btfrepro --help.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
)

func main() {
	leaveRunfiles()
	cli.Main(program)
}

// leaveRunfiles changes to the user's directory, in which relative paths on the command line begin.
// "bazel run" starts a program in its runfiles, and sets BUILD_WORKING_DIRECTORY to the user's
// directory.
func leaveRunfiles() {
	user := os.Getenv("BUILD_WORKING_DIRECTORY")
	if here, err := os.Getwd(); user == "" || err != nil || !strings.Contains(here, ".runfiles/") {
		return
	}
	if err := os.Chdir(user); err != nil {
		fmt.Fprintf(os.Stderr, "btfrepro: %v\n", err)
		os.Exit(1)
	}
}

func program() *cobra.Command {
	return cli.NewProgram("btfrepro",
		"btfrepro compares two builds of the same targets, and finds where differences begin. It reads\n"+
			"Bazel's execution logs.",
		diffCommand(),
		runCommand(),
	)
}
