package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// checkValues refuses a flag without a value that is followed by another flag. The flag parser
// would take the other flag as the value: --skipped -q would write to a file named -q.
func checkValues(root *cobra.Command, args []string) error {
	c, args, err := root.Find(args)
	if err != nil {
		return nil // reported later
	}
	c.InitDefaultHelpFlag()
	for i := 0; i+1 < len(args) && args[i] != "--"; i++ {
		f := flagNamed(c.Flags(), args[i])
		if f == nil || f.NoOptDefVal != "" {
			continue
		}
		i++
		if name, _, _ := strings.Cut(args[i], "="); flagNamed(c.Flags(), name) != nil {
			return Usagef("flag needs an argument: %s; if %s is meant as the argument, write --%s=%s "+
				"(see %s --help)", args[i-1], args[i], f.Name, args[i], c.CommandPath())
		}
	}
	return nil
}

// flagNamed returns the flag that arg names, as --name or -n, or nil if arg is not just that.
func flagNamed(flags *pflag.FlagSet, arg string) *pflag.Flag {
	switch {
	case len(arg) > 2 && strings.HasPrefix(arg, "--"):
		return flags.Lookup(arg[2:])
	case len(arg) == 2 && arg[0] == '-' && arg != "--":
		return flags.ShorthandLookup(arg[1:])
	}
	return nil
}
