package cli

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// ParseFlags reads the flags of a command that has no verbs. What is wrong is a UsageError, also
// one of the flags named by once that is given twice.
func ParseFlags(fs *pflag.FlagSet, args []string, once ...string) error {
	return parseFlags(fs, args, func(string) string { return "" }, once)
}

// parseFlags reads flags. hint says more about the name of one that there is not, or "".
func parseFlags(fs *pflag.FlagSet, args []string, hint func(name string) string,
	once []string) error {
	if err := oneDash(fs, args); err != nil {
		return err
	}
	err := fs.ParseAll(args, func(f *pflag.Flag, value string) error {
		if f.Changed && slices.Contains(once, f.Name) && !repeats(f) {
			return Usagef("%s is given twice; give it once", flagName(f))
		}
		return fs.Set(f.Name, value)
	})
	if err == nil || errors.Is(err, pflag.ErrHelp) || isUsage(err) {
		return err
	}
	return parseError(fs, err, hint)
}

// repeats reports whether a flag may be given several times.
func repeats(f *pflag.Flag) bool {
	_, list := f.Value.(pflag.SliceValue)
	return list
}

// oneDash refuses a long flag with one dash: -output=x would mean -o utput=x.
func oneDash(fs *pflag.FlagSet, args []string) error {
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if i > 0 && needsValue(fs, args[i-1]) {
			continue // a value
		}
		name, _, _ := strings.Cut(arg, "=")
		name, dash := strings.CutPrefix(name, "-")
		if dash && len(name) > 1 && name[0] != '-' && fs.Lookup(name) != nil {
			return Usagef("the flag -%s has two dashes: --%[1]s", name)
		}
	}
	return nil
}

// parseError is the usage error for what pflag refused, in words that speak of no Go package.
func parseError(fs *pflag.FlagSet, err error, hint func(name string) string) error {
	switch e := err.(type) {
	case *pflag.NotExistError:
		name := e.GetSpecifiedName()
		if short := e.GetSpecifiedShortnames(); short != "" {
			return Usagef("unknown flag -%s", name)
		}
		if text := hint(name); text != "" {
			return Usagef("unknown flag --%s%s", name, text)
		}
		var names []string
		fs.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, "--"+f.Name)
			}
		})
		typed := "--" + strings.ReplaceAll(name, "_", "-")
		return Usagef("unknown flag --%s%s", name, DidYouMean(typed, names))
	case *pflag.ValueRequiredError:
		return Usagef("%s is missing", flagWithValue(e.GetFlag()))
	case *pflag.InvalidValueError:
		cause := e.Unwrap()
		if e.GetFlag().Value.Type() == "bool" {
			cause = errors.New("is neither true nor false")
		} else if _, ok := errors.AsType[*strconv.NumError](cause); ok {
			cause = errors.New("is not a number that this takes")
		}
		return wrongValue(flagName(e.GetFlag()), e.GetValue(), cause)
	case *pflag.InvalidSyntaxError:
		return Usagef("%q is not a flag", e.GetSpecifiedFlag())
	}
	return Usagef("%v", err)
}

func flagName(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand
	}
	return "--" + f.Name
}

// flagWithValue is a flag with the name of its value, as in "-o FILE".
func flagWithValue(f *pflag.Flag) string {
	kind, _ := pflag.UnquoteUsage(f)
	if f.Shorthand == "o" {
		kind = "OUT"
	}
	return flagName(f) + " " + kind
}
