// Package manuals writes the man pages of programs, and their completions for shells. The programs
// have it only if they are built with the tag manuals, because they start faster without it.
package manuals

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/rules-btf/rules_btf/internal/command/version"
)

// Write writes the files about a program below a directory, at the places below a prefix such as
// /usr/local where they are looked for. The man pages show the month of the environment variable
// SOURCE_DATE_EPOCH.
func Write(root *cobra.Command, prefix string) error {
	root.DisableAutoGenTag = true
	header := &doc.GenManHeader{Section: "1", Source: "rules_btf " + version.Number(),
		Manual: "rules_btf"}
	name := root.Name()
	for _, c := range []struct {
		path  string
		write func(path string) error
	}{
		{"bash-completion/completions/" + name,
			func(path string) error { return root.GenBashCompletionFileV2(path, true) }},
		{"zsh/site-functions/_" + name, root.GenZshCompletionFile},
		{"fish/vendor_completions.d/" + name + ".fish",
			func(path string) error { return root.GenFishCompletionFile(path, true) }},
		{"man/man1/" + name + ".1",
			func(path string) error { return doc.GenManTree(root, header, filepath.Dir(path)) }},
	} {
		path := filepath.Join(prefix, "share", c.path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := c.write(path); err != nil {
			return err
		}
	}
	return nil
}
