package clitest

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/manuals"
)

// asProgram is a variable that makes a test of Manuals be the program.
const asProgram = "CLITEST_PROGRAM"

// Manuals wants man pages of all verbs that man finds nothing wrong with, and a completion of bash,
// run by bash, that knows all verbs and flags. The test that calls it must do nothing before.
func Manuals(t *testing.T, program func() *cli.Program) {
	if os.Getenv(asProgram) != "" {
		os.Exit(program().Run(flag.Args()))
	}
	dir, again := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, program().Name)
	test, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// GO_TEST_WRAP is for tests that Bazel runs: their output isn't wrapped again.
	script := fmt.Sprintf("#!/bin/sh\n%s=1 GO_TEST_WRAP=0 exec %s -test.run='^%s$' -- \"$@\"\n",
		asProgram, test, t.Name())
	if err := os.WriteFile(path, []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{dir, again} {
		if err := manuals.Write(to, path, time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
	}
	made := files(t, filepath.Join(dir, "share"))
	if !maps.Equal(made, files(t, filepath.Join(again, "share"))) {
		t.Error("the second run writes other files")
	}
	t.Run("man", func(t *testing.T) { manPages(t, program(), filepath.Join(dir, "share"), made) })
	t.Run("shells", func(t *testing.T) { syntax(t, dir, program().Name, made) })
	t.Run("bash", func(t *testing.T) { bash(t, program(), dir) })
}

// manPages wants a page for the program and each verb, and on this each flag and example.
func manPages(t *testing.T, p *cli.Program, share string, made map[string]string) {
	names := []string{p.Name}
	for _, v := range p.Verbs {
		name := p.Name + "-" + v.Name
		names = append(names, name)
		page := strings.ReplaceAll(made["man/man1/"+name+".1"], `\`, "")
		for _, example := range v.Examples {
			if !strings.Contains(page, example) {
				t.Errorf("%s lacks the example %s", name, example)
			}
		}
		v.NewFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(page, "fB--"+f.Name+"fP") {
				t.Errorf("%s lacks the flag %s", name, f.Name)
			}
		})
	}
	var paths []string
	for _, name := range names {
		page := "man/man1/" + name + ".1"
		paths = append(paths, filepath.Join(share, page))
		if !strings.HasPrefix(made[page], ".nh\n.TH") || !strings.Contains(made[page], "Sep 2001") {
			t.Errorf("%s: not a page of September 2001: %.80q", page, made[page])
		}
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
func bash(t *testing.T, p *cli.Program, dir string) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("SKIPPED:", err)
	}
	var lines, wants []string
	ask := func(line, want string) { lines, wants = append(lines, line), append(wants, want) }
	asked := map[string]bool{}
	for _, v := range p.Verbs {
		ask(p.Name+" "+v.Name[:len(v.Name)-1], v.Name)
		v.NewFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "jobs" {
				ask(p.Name+" "+v.Name+" --j", "--jobs")
			}
			if chooser, ok := f.Value.(cli.Chooser); ok && !asked[f.Name] {
				asked[f.Name] = true
				words, _ := chooser.Choices()
				ask(p.Name+" "+v.Name+" --"+f.Name+" "+words[0][:2], words[0])
			}
		})
	}
	ask(p.Name+" ", "version")
	cmd := exec.Command("bash", "-c", bashDriver, "bash", p.Name,
		filepath.Join(dir, "share", "bash-completion", "completions", p.Name))
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
