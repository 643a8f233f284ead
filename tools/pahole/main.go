// Pahole replaces the pahole that kernel builds call: make PAHOLE=.../pahole. It has the original's
// options for encoding BTF, and makes the same BTF as btfgen elf. See docs/pahole.md.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
)

func main() { cli.Main(program) }

// program passes all arguments to run, because cobra can't parse pahole's options.
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
