package clitest

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
)

// Bench runs the command line in the environment variable BTF_BENCH_COMMAND, such as
// "elf -j1 -o /tmp/vmlinux.btf vmlinux".
func Bench(b *testing.B, program func() *cobra.Command) {
	args := strings.Fields(os.Getenv("BTF_BENCH_COMMAND"))
	if len(args) == 0 {
		b.Skip("set BTF_BENCH_COMMAND to a command line without the program's name")
	}
	for b.Loop() {
		var text bytes.Buffer
		if code := cli.Execute(program, args, nil, &text, &text); code != 0 {
			b.Fatalf("exit code %d\n%s", code, text.String())
		}
	}
}
