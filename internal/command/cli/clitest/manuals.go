package clitest

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/manuals"
)

// asProgram is a variable that makes a test of Manuals be the program.
const asProgram = "CLITEST_PROGRAM"

// Manuals wants man pages of all commands that man finds nothing wrong with, and a completion of
// bash, run by bash, that knows all commands and flags. The test that calls it must do nothing
// before.
func Manuals(t *testing.T, program func() *cobra.Command) {
	if os.Getenv(asProgram) != "" {
		os.Exit(cli.Execute(program, flag.Args(), nil, nil, nil))
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1000000000")
	dir, name := t.TempDir(), program().Name()
	if err := manuals.Write(program(), dir); err != nil {
		t.Fatal(err)
	}
	made := files(t, filepath.Join(dir, "share"))
	t.Run("man", func(t *testing.T) { manPages(t, program(), filepath.Join(dir, "share"), made) })
	t.Run("shells", func(t *testing.T) { syntax(t, dir, name, made) })
	t.Run("bash", func(t *testing.T) {
		test, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		// GO_TEST_WRAP is for tests that Bazel runs: their output isn't wrapped again.
		script := fmt.Sprintf("#!/bin/sh\n%s=1 GO_TEST_WRAP=0 exec %s -test.run='^%s$' -- \"$@\"\n",
			asProgram, test, strings.TrimSuffix(t.Name(), "/bash"))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o777); err != nil {
			t.Fatal(err)
		}
		bash(t, program(), dir)
	})
}

// manPages wants a page for the program and each command, and on this each flag and example.
func manPages(t *testing.T, root *cobra.Command, share string, made map[string]string) {
	var paths []string
	for _, c := range append(root.Commands(), root) {
		page := "man/man1/" + strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		paths = append(paths, filepath.Join(share, page))
		if !strings.HasPrefix(made[page], ".nh\n.TH") || !strings.Contains(made[page], "Sep 2001") {
			t.Errorf("%s: not a page of September 2001: %.80q", page, made[page])
		}
		text := strings.ReplaceAll(made[page], `\`, "")
		if !strings.Contains(text, c.Example) {
			t.Errorf("%s lacks the examples", page)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(text, "fB--"+f.Name+"fP") {
				t.Errorf("%s lacks the flag %s", page, f.Name)
			}
		})
	}
	for _, lint := range [][]string{
		{"man", "--warnings=all", "-l"}, {"mandoc", "-T", "lint", "-W", "error"}} {
		if _, err := exec.LookPath(lint[0]); err != nil {
			continue
		}
		cmd := exec.Command(lint[0], append(lint[1:], paths...)...)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Run(); err != nil || stderr.Len() > 0 {
			t.Errorf("%q: %v\n%s", cmd.Args, err, &stderr)
		}
	}
}

// syntax wants the shells that are installed to read the completions.
func syntax(t *testing.T, dir, name string, made map[string]string) {
	for shell, path := range map[string]string{"bash": "bash-completion/completions/" + name,
		"zsh": "zsh/site-functions/_" + name, "fish": "fish/vendor_completions.d/" + name + ".fish"} {
		if !strings.Contains(made[path], name+" __complete") &&
			!strings.Contains(made[path], "__complete $") && !strings.Contains(made[path], "} __complete ") {
			t.Errorf("%s doesn't ask the program", path)
		}
		if _, err := exec.LookPath(shell); err != nil {
			continue
		}
		out, err := exec.Command(shell, "-n", filepath.Join(dir, "share", path)).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s -n %s: %v\n%s", shell, path, err, out)
		}
	}
}

// bashDriver completes the command line of its arguments as bash does at a tab. The function that
// splits command lines is of the package bash-completion; without that, the arguments are split
// already.
const bashDriver = `
for f in /usr/share/bash-completion/bash_completion /etc/bash_completion; do
  [[ -r $f ]] && { source "$f"; break; }
done
declare -F _get_comp_words_by_ref >/dev/null || _get_comp_words_by_ref() {
  words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]}
  prev=${COMP_WORDS[COMP_CWORD-1]}
}
name=$1 completion=$2
source "$completion" || exit 1
while IFS= read -r line; do
  COMP_WORDS=($line)
  [[ $line == *' ' ]] && COMP_WORDS+=('')
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=$line COMP_POINT=${#line} COMP_TYPE=9 COMP_KEY=9
  COMPREPLY=()
  "__start_$name" 2>/dev/null
  echo "$line:${COMPREPLY[*]%%  *}"
done
`

// bash wants bash to complete the beginnings of verbs and flags.
func bash(t *testing.T, root *cobra.Command, dir string) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("SKIPPED:", err)
	}
	var lines, wants []string
	ask := func(line, want string) { lines, wants = append(lines, line), append(wants, want) }
	asked := map[string]bool{}
	for _, c := range root.Commands() {
		ask(root.Name()+" "+c.Name()[:len(c.Name())-1], c.Name())
		ask(root.Name()+" "+c.Name()+" --j", "--jobs")
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if chooser, ok := f.Value.(cli.Chooser); ok && !asked[f.Name] {
				asked[f.Name] = true
				words, _ := chooser.Choices()
				ask(root.Name()+" "+c.Name()+" --"+f.Name+" "+words[0][:2], words[0])
			}
		})
	}
	ask(root.Name()+" ", "completion")
	cmd := exec.Command("bash", "-c", bashDriver, "bash", root.Name(),
		filepath.Join(dir, "share", "bash-completion", "completions", root.Name()))
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	answers := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if err != nil || len(answers) != len(lines) {
		t.Fatalf("%v: %d answers to %d lines\n%s%s", err, len(answers), len(lines), out, &stderr)
	}
	for i, answer := range answers {
		_, words, _ := strings.Cut(answer, ":")
		if !slices.Contains(strings.Fields(words), wants[i]) {
			t.Errorf("%q is completed to %q, want %q", lines[i], words, wants[i])
		}
	}
}
