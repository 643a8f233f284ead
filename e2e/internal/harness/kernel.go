package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// Kernel returns the built kernel tree that KERNEL_DIR names. If KERNEL_DIR isn't set, it skips the
// test.
func Kernel(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("KERNEL_DIR")
	if dir == "" {
		tb.Skip("SKIPPED: no kernel; set KERNEL_DIR to what e2e/linux/kernel.sh prints")
	}
	return dir
}

// KernelCompiler skips the test unless gcc is the compiler that built the kernel in dir.
func KernelCompiler(tb testing.TB, dir string) {
	tb.Helper()
	Need(tb, "gcc")
	config := string(ReadFile(tb, filepath.Join(dir, ".config")))
	m := regexp.MustCompile(`(?m)^CONFIG_CC_VERSION_TEXT="(.*)"$`).FindStringSubmatch(config)
	version := must.Get(exec.Command("gcc", "--version").Output())(tb)
	first, _, _ := strings.Cut(string(version), "\n")
	if m == nil || m[1] != first {
		tb.Skipf("SKIPPED: gcc is %q, the kernel needs %v; run this in ./bazelw --root-exec", first, m)
	}
}

var savedCommand = regexp.MustCompile(`(?m)^savedcmd_\S+ := (.*?)( ; |$)`)

// CompileCommand returns the command with which Kbuild compiled object, a path in the kernel tree,
// changed so that it compiles source into output. Local includes come from the original directory.
func CompileCommand(dir, object, source, output string) (string, error) {
	record := filepath.Join(dir, filepath.Dir(object), "."+filepath.Base(object)+".cmd")
	b, err := os.ReadFile(record)
	if err != nil {
		return "", err
	}
	m := savedCommand.FindStringSubmatch(string(b))
	if m == nil {
		return "", fmt.Errorf("%s: no savedcmd_ line", record)
	}
	words := strings.Fields(m[1])
	command := make([]string, 0, len(words)+2)
	found := false
	for i, w := range words {
		switch {
		case strings.HasPrefix(w, "-Wp,-MMD,"):
			// The command must not overwrite Kbuild's list of dependencies.
		case i > 0 && words[i-1] == "-o":
			command = append(command, "'"+output+"'")
		case w == strings.TrimSuffix(object, ".o")+".c":
			command = append(command, "-iquote", filepath.Dir(object), "'"+source+"'")
			found = true
		default:
			command = append(command, w)
		}
	}
	if !found {
		return "", fmt.Errorf("%s: the recorded command doesn't compile %s", record,
			strings.TrimSuffix(object, ".o")+".c")
	}
	return strings.Join(command, " "), nil
}
