package examples

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// A block is a code block on a page.
type block struct{ kind, text string }

func blocks(page string) (found []block) {
	fenced := regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```")
	for _, m := range fenced.FindAllStringSubmatch(page, -1) {
		found = append(found, block{m[1], m[2]})
	}
	return found
}

// fileName returns the file name in the comment that is the block's first line, or "".
func (b block) fileName() string {
	first, _, _ := strings.Cut(b.text, "\n")
	m := regexp.MustCompile(`^(?:# |/\* )([\w.]+)(?: \*/)?$`).FindStringSubmatch(first)
	if m == nil {
		return ""
	}
	return m[1]
}

// commands returns the commands in a console block. Each command is a list: the command itself, and
// the lines of output that the page shows for it.
func (b block) commands() (found [][]string) {
	for line := range strings.Lines(b.text) {
		line = strings.TrimSuffix(line, "\n")
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			found = append(found, []string{command})
		} else if n := len(found); n > 0 {
			found[n-1] = append(found[n-1], line)
		}
	}
	return found
}

// linePattern returns a pattern for a line of output on a page; "…" in the line matches anything.
func linePattern(text string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(text), "…", ".*"))
}

// TestGettingStarted runs the commands in docs/getting-started.md, and checks that they print the
// lines that the page shows, in the same order.
func TestGettingStarted(t *testing.T) {
	page := string(harness.ReadFile(t, filepath.Join(harness.Repo(), "docs/getting-started.md")))
	from := t.TempDir()
	files, commands := 0, 0
	for _, b := range blocks(page) {
		if name := b.fileName(); name != "" {
			harness.WriteFile(t, filepath.Join(from, name), b.text)
			files++
		}
	}
	w := newWorkspace(t, from)
	for _, b := range blocks(page) {
		if b.kind != "console" {
			continue
		}
		for _, command := range b.commands() {
			commands++
			printed := w.Shell(command[0])
			rest := printed
			for _, want := range command[1:] {
				at := linePattern(want).FindStringIndex(rest)
				if at == nil {
					t.Errorf("%s: after the lines that precede it on the page, want\n%s\nhave\n%s",
						command[0], want, printed)
					break
				}
				rest = rest[at[1]:]
			}
			if n := strings.Count(printed, "mnemonic: "); n > 0 && n != len(command)-1 {
				t.Errorf("%s: %d actions, the page has %d", command[0], n, len(command)-1)
			}
		}
	}
	if files != 6 || commands < 7 {
		t.Errorf("%d files and %d commands: the test misreads the page", files, commands)
	}
}
