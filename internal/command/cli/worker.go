package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/worker"
)

// workerFlag makes the program a persistent worker of Bazel. The other arguments are put before
// those of each request.
const workerFlag = "--persistent_worker"

// workerHeap is how much the heap of a worker grows before garbage is collected, in percent of what
// is in use. Requests are short, and nearly all that they leave is garbage.
const workerHeap = 400

// serve runs the program for each request that arrives on Stdin, and returns the exit code of the
// worker. Stdout has responses and nothing else.
func serve(env *Env, program func() *cobra.Command, first []string) (code int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(workerHeap)
	}
	err := worker.Serve(env.Stdin, env.Stdout, runtime.GOMAXPROCS(0),
		func(args []string, dir string, output io.Writer) (code int) {
			var text bytes.Buffer
			root := program()
			root.SetIn(strings.NewReader(""))
			root.SetOut(&text)
			root.SetErr(&text)
			root.SetContext(context.WithValue(context.Background(), workDirKey{}, dir))
			code = execute(root, slices.Concat(first, args))
			shown := text.String()
			if dir != "" { // as the user knows the paths
				shown = strings.ReplaceAll(shown, strings.TrimSuffix(dir, "/")+"/", "")
			}
			io.WriteString(output, shown)
			return code
		})
	if err != nil {
		env.Error(fmt.Errorf("worker: %w", err))
		return 1
	}
	return 0
}
