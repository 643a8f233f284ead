package bpf

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// TestAction runs the step of check/action.yml as GitHub's runner does, on the programs and kernels
// in examples/bpf.
func TestAction(t *testing.T) {
	harness.Need(t, "bash", "clang", "go")
	path := filepath.Join(harness.Repo(), "check")
	action := string(harness.ReadFile(t, filepath.Join(path, "action.yml")))
	steps := regexp.MustCompile(`(?m)^    - run: '(.*)'$`).FindAllStringSubmatch(action, -1)
	variables := regexp.MustCompile(`(?m)^        ([A-Z]+): \$\{\{ inputs\.([a-z]+) \}\}$`).
		FindAllStringSubmatch(action, -1)
	if len(steps) != 1 || len(variables) != 5 {
		t.Fatalf("action.yml: parsed %d steps and %d variables, want 1 and 5", len(steps), len(variables))
	}
	dir := t.TempDir()
	harness.Command{Argv: []string{"bash", "-euc", `
		for p in exec wait; do clang -target bpf -g -O2 -c -o $p.bpf.o "$EXAMPLE/programs/$p.bpf.c"; done
		mkdir kernels
		for k in 5.10 6.1 6.12; do clang -target bpf -g -c -o kernels/$k.btf "$EXAMPLE/kernels/$k.c"; done
		go run -C "$EXAMPLE/../.." ./tools/btfcore needs -o "$PWD/wait.needs" "$PWD/wait.bpf.o"
		cp "$EXAMPLE/expected_failures.txt" .`},
		Dir: dir, Env: []string{"EXAMPLE=" + filepath.Join(path, "../examples/bpf")}}.Must(t)
	var many strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&many, "k%d=kernels/6.1.btf\n", i)
	}

	for name, test := range map[string]struct {
		inputs  map[string]string
		exit    int
		prints  string
		summary []string // nil: none
	}{
		"a program fails": {
			map[string]string{"programs": "*.bpf.o", "kernels": "kernels"}, 1,
			"fails   6.1  on_switch\n",
			[]string{"<tr><th>kernel</th><th>on_exec</th><th>on_switch</th></tr>\n<tr><th>5.10</th>",
				"struct task_struct has no field wait", `<td class="loads">loads</td></tr>` + "\n</table>\n"},
		},
		"failures are expected": {
			map[string]string{"programs": "exec.bpf.o\nwait.bpf.o\n", "kernels": "kernels/*.btf",
				"expect": "expected_failures.txt"}, 0,
			"6 verdicts: 1 load, 3 load partly, 2 fail\n", []string{"<th>on_switch</th>"},
		},
		"needs, a name and options": {
			map[string]string{"needs": "wait.needs", "kernels": "new=kernels/6.12.btf",
				"options": "--jobs=1\n--format=json\n"}, 0,
			`"kernel": "new"`, []string{"<tr><th>new</th>"},
		},
		"too many kernels for a summary": {
			map[string]string{"programs": "*.bpf.o", "kernels": many.String()}, 1,
			"fails   k2499  on_switch\n", []string{" bytes, too many for a summary"},
		},
		"no such kernel": {
			map[string]string{"needs": "wait.needs", "kernels": "kernels/7.0.btf"}, 1,
			"kernels/7.0.btf: no such file", nil,
		},
		"no program": {
			map[string]string{"kernels": "kernels"}, 2, `"needs" not set`, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "summary")
			env := []string{"GITHUB_ACTION_PATH=" + path, "GITHUB_STEP_SUMMARY=" + file}
			for _, v := range variables {
				env = append(env, v[1]+"="+test.inputs[v[2]])
			}
			// The options of "shell: bash".
			argv := []string{"bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", steps[0][1]}
			r, err := harness.Command{Argv: argv, Dir: dir, Env: env}.Run()
			if err != nil || r.Exit != test.exit || !strings.Contains(r.Stdout+r.Stderr, test.prints) {
				t.Errorf("exit %d, %v, want exit %d and %q\n%s%s", r.Exit, err, test.exit, test.prints,
					r.Stdout, r.Stderr)
			}
			summary, err := os.ReadFile(file)
			if written := err == nil; written != (test.summary != nil) {
				t.Errorf("summary: %v\n%s", err, summary)
			}
			for _, want := range test.summary {
				if !strings.Contains(string(summary), want) {
					t.Errorf("no %q in the summary\n%s", want, summary)
				}
			}
			if strings.Contains(string(summary), "<style>") {
				t.Errorf("the summary has the head of the page\n%s", summary)
			}
		})
	}
}
