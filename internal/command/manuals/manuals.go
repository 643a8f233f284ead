// Package manuals writes the man pages and the completions for shells of programs that are made
// with the package cli, from what these say of themselves.
//
// It is not part of the programs: they are started once an object, and start faster without it.
package manuals

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/rules-btf/rules_btf/internal/command/cli"
)

// describeWord is the argument that makes a program describe itself.
const describeWord = "__describe"

// Write writes the files about a program below a directory, at the places below a prefix such as
// /usr/local where they are looked for. date is that of the man pages, of which they show the
// month.
func Write(dir, program string, date time.Time) error {
	d, err := describe(program)
	if err != nil {
		return err
	}
	root := command(d)
	man := filepath.Join(dir, "share", "man", "man1")
	if err := os.MkdirAll(man, 0o777); err != nil {
		return err
	}
	date = date.UTC()
	header := doc.GenManHeader{Section: "1", Date: &date, Source: "rules_btf " + d.Version,
		Manual: "rules_btf"}
	if err := doc.GenManTree(root, &header, man); err != nil {
		return err
	}
	for _, c := range []struct {
		path     string
		generate func(name string) error
	}{
		{"bash-completion/completions/" + d.Name,
			func(name string) error { return root.GenBashCompletionFileV2(name, true) }},
		{"zsh/site-functions/_" + d.Name, root.GenZshCompletionFile},
		{"fish/vendor_completions.d/" + d.Name + ".fish",
			func(name string) error { return root.GenFishCompletionFile(name, true) }},
	} {
		name := filepath.Join(dir, "share", c.path)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		if err := c.generate(name); err != nil {
			return err
		}
	}
	return nil
}

// describe asks a program to describe itself.
func describe(program string) (*cli.Description, error) {
	cmd := exec.Command(program, describeWord)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", program, err, bytes.TrimSpace(stderr.Bytes()))
	}
	d := new(cli.Description)
	if err := json.Unmarshal(out, d); err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	return d, nil
}

// command is a program as cobra knows programs, for its texts alone.
func command(d *cli.Description) *cobra.Command {
	root := &cobra.Command{Use: d.Name, Short: text(d.Summary), Long: markdown(d.Summary),
		DisableAutoGenTag: true}
	root.Flags().BoolP("help", "h", false, "print a help text")
	root.Flags().Bool("version", false, "print the version")
	for i := range d.Verbs {
		root.AddCommand(verb(d.Name, &d.Verbs[i]))
	}
	return root
}

// verb is a verb as cobra's command.
func verb(program string, v *cli.VerbDescription) *cobra.Command {
	c := &cobra.Command{Use: v.Name + " [flags] " + v.Args, Short: text(v.Summary),
		Long: markdown(v.Long), DisableFlagsInUseLine: true, DisableAutoGenTag: true,
		Run: func(*cobra.Command, []string) {}}
	for i, line := range v.Examples {
		if i > 0 {
			c.Example += "\n"
		}
		c.Example += line
	}
	for _, f := range v.Flags {
		shown := c.Flags().VarPF(&value{f}, f.Name, f.Short, usage(f))
		if f.Value == "" {
			shown.NoOptDefVal = "true"
		}
	}
	return c
}

// value is a flag's value that is not there.
type value struct{ cli.FlagDescription }

// String is what stands for the value.
func (v *value) String() string {
	if v.Value == "" {
		return "true"
	}
	return v.Value
}

func (*value) Set(string) error { return nil }

func (v *value) Type() string { return "value" }

// usage is what is said of a flag.
func usage(f cli.FlagDescription) string {
	if f.Default == "" || f.Value == "" {
		return text(f.Usage)
	}
	return text(f.Usage + " (default " + f.Default + ")")
}
