// Command scale measures what the actions of rules_btf cost, and simulates the BTF of a large
// kernel on many executors.
//
//	scale measure --kernel DIR --release DIR… [--tools DIR] [-o model.json]
//	scale validate --kernel DIR [--workspace DIR]
//	scale report [--doc FILE] [--plots DIR] [--grain N]
//
// measure runs each action of a built kernel's BTF once (e2e/linux/kernel.sh prints DIR), and some
// of distributions' kernels and modules, and pahole on the same files. It takes processor times,
// not wall times, so other work on the machine disturbs little. validate builds the kernel's BTF
// with Bazel at --jobs=1 and 2 and prints the simulation's error: that is wall time, for a quiet
// machine. e2e/scale/run does all three.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"
)

func main() {
	if len(os.Args) > 1 {
		for name, f := range map[string]func(*pflag.FlagSet) func() error{
			"measure": measureCommand, "validate": validateCommand, "report": reportCommand,
		} {
			if os.Args[1] == name {
				run(name, f)
				return
			}
		}
	}
	fmt.Fprintln(os.Stderr, "usage: scale measure|validate|report [FLAGS]")
	os.Exit(2)
}

// run parses the flags of a command and runs it.
func run(name string, define func(*pflag.FlagSet) func() error) {
	flags := pflag.NewFlagSet(name, pflag.ExitOnError)
	command := define(flags)
	flags.Parse(os.Args[2:])
	err := fmt.Errorf("%s takes flags only", name)
	if flags.NArg() == 0 {
		err = command()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}
