//go:build manuals

package cli

import (
	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/manuals"
)

func init() {
	addManuals = func(root *cobra.Command) {
		root.CompletionOptions.HiddenDefaultCmd = true // it needs no man page
		root.AddCommand(&cobra.Command{Use: "manuals PREFIX", Hidden: true, Args: checkArgs,
			Short: "Write man pages, and completions for shells, below a prefix such as /usr/local",
			RunE:  RunE(func(_ *Env, args []string) error { return manuals.Write(root, args[0]) })})
	}
}
