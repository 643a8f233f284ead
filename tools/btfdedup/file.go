package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
)

// fileCommand is a verb for the rules: an action's inputs are files or whole directories, but rules
// such as vmlinux_btf read one file.
func fileCommand() *cobra.Command {
	command := &cobra.Command{Use: "file DIR", Short: "Copy one file of a directory", Hidden: true}
	path := command.Flags().String("path", "", "the file's `PATH` in the directory")
	flags := cli.NewFlags(command, cli.Output)
	flags.NoStdin = "it isn't a directory"
	return flags.Command(func(env *cli.Env, args []string) error {
		if _, err := os.Stat(args[0]); err != nil {
			return err
		}
		from := filepath.Join(args[0], *path)
		info, err := os.Stat(from)
		if err != nil || !info.Mode().IsRegular() || !filepath.IsLocal(*path) {
			return fmt.Errorf("%s has no file %s: specify its path relative to that directory", args[0],
				*path)
		}
		f, err := os.Open(from)
		if err != nil {
			return err
		}
		defer f.Close()
		return env.WriteOutput(env.Output, func(w io.Writer) error {
			_, err := io.Copy(w, f)
			return err
		})
	})
}
