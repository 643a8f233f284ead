package random

import (
	"fmt"
	"strings"
	"time"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// Tools are the paths of the tools under test.
type Tools struct {
	Btfgen, Btfdedup string
}

// commandTimeout is far longer than any command needs for a small program.
const commandTimeout = time.Minute

type commandError struct {
	argv   []string
	result harness.Result
}

func (e *commandError) Error() string {
	how := fmt.Sprintf("exit %d", e.result.Exit)
	if e.result.TimedOut {
		how = "timed out"
	}
	return fmt.Sprintf("%s: %s\n%s", strings.Join(e.argv, " "), how,
		clip(e.result.Stderr+e.result.Stdout))
}

func clip(s string) string {
	const limit = 3000
	if len(s) > limit {
		s = s[:limit] + "..."
	}
	return strings.TrimSpace(s)
}

func run(dir string, argv ...string) error {
	r, err := harness.Command{Argv: argv, Dir: dir, Timeout: commandTimeout}.Run()
	if err == nil && r.Exit != 0 {
		err = &commandError{argv, r}
	}
	return err
}
