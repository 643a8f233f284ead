package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

func diffCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "diff A B",
		Short: "Compare the needs of two versions of programs",
		Long: `
Prints a line with + for each thing that only the programs in B need from a kernel, and a line with
- for each thing that only those in A need. A and B are files from "btfcore needs", or object files.

Exit codes: 0 if the needs are the same, 1 if they differ or can't be read, 2 for wrong usage.`,
		Example: `
btfcore diff old.needs new.needs`,
	}, cli.Printed)
	format := ""
	flags.FormatVar(&format)
	return flags.Command(func(env *cli.Env, args []string) error {
		a, err := readNeeds(args[:1], true)
		if err != nil {
			return err
		}
		b, err := readNeeds(args[1:], true)
		if err != nil {
			return err
		}
		changes := needs.Diff(a, b)
		err = env.WriteOutput(env.Output, func(w io.Writer) error {
			if format == "json" {
				return message.WriteJSON(w, append([]needs.Change{}, changes...))
			}
			for _, c := range changes {
				if _, err := fmt.Fprintln(w, c); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil && len(changes) > 0 {
			err = cli.ErrNo
		}
		return err
	})
}
