// Command kernelbuild writes the BUILD file that makes a built Linux tree a Bazel repository, in
// which the BTF is made of the object files.
//
//	kernelbuild -o BUILD.bazel KERNEL_DIR
//
// It does not write a file that is up to date.
package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/rules-btf/rules_btf/e2e/internal/kbuild"
)

func main() {
	out := pflag.StringP("output", "o", "BUILD.bazel", "the `FILE` to write")
	pflag.Parse()
	if pflag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: kernelbuild -o BUILD.bazel KERNEL_DIR")
		os.Exit(2)
	}
	if err := run(*out, pflag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "kernelbuild:", err)
		os.Exit(1)
	}
}

func run(out, dir string) error {
	tree, err := kbuild.Read(dir)
	if err != nil {
		return err
	}
	text := tree.BuildFile()
	if old, err := os.ReadFile(out); err == nil && bytes.Equal(old, text) {
		return nil
	}
	fmt.Fprintf(os.Stderr, "kernelbuild: %d objects, %d modules\n", len(tree.Objects),
		len(tree.Modules))
	if err := os.WriteFile(out+".tmp", text, 0o666); err != nil {
		return err
	}
	return os.Rename(out+".tmp", out)
}
