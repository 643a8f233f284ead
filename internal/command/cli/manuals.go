//go:build manuals

package cli

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/rules-btf/rules_btf/internal/command/version"
)

// Only programs built with the tag "manuals" contain this code, which makes them start more slowly.
func init() {
	addManuals = func(root *cobra.Command) {
		root.CompletionOptions.HiddenDefaultCmd = true // it needs no man page
		root.AddCommand(&cobra.Command{Use: "manuals PREFIX", Hidden: true, Args: checkArgs,
			Short: "Write man pages and shell completions below a prefix such as /usr/local",
			RunE:  RunE(func(_ *Env, args []string) error { return writeManuals(root, args[0]) })})
	}
}

// writeManuals writes man pages and completions to the usual places below a prefix. The man pages
// are dated with the month from the environment variable SOURCE_DATE_EPOCH.
// Rule: man pages, shell completion. Source: cobra bash_completionsV2.go, doc/man_docs.go.
func writeManuals(root *cobra.Command, prefix string) error {
	root.DisableAutoGenTag = true
	header := &doc.GenManHeader{Section: "1", Source: "rules_btf " + version.Line(),
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
