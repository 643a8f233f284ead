// Pahole takes the place of the pahole that kernel builds call: make PAHOLE=.../pahole. It has that
// one's command line as far as it encodes BTF, and what it encodes is what btfgen elf makes. See
// docs/pahole.md.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
)

func main() { cli.Main(program) }

// program leaves the arguments, pahole's, to run.
func program() *cobra.Command {
	return &cobra.Command{Use: "pahole", DisableFlagParsing: true, RunE: cli.RunE(run),
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true}}
}

func run(env *cli.Env, args []string) error {
	c, err := newCommand(os.Getenv(versionVariable), os.Getenv(excludeVariable))
	if err != nil {
		return err
	}
	if err := c.parse(args); err != nil {
		return err
	}
	for _, warning := range c.ignored {
		fmt.Fprintln(env.Stderr, warning)
	}
	if c.show != "" {
		_, err := fmt.Fprint(env.Stdout, c.show)
		return err
	}
	return c.encode(env)
}
