package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Chooser is a flag's value that is one of a few words, or a list of them.
type Chooser interface {
	// Choices are the words; list says whether several may be given, separated by commas.
	Choices() (words []string, list bool)
}

// completeChoices has shells complete the values of flags that are a Chooser.
func completeChoices(root *cobra.Command) {
	for _, c := range root.Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if chooser, ok := f.Value.(Chooser); ok {
				c.RegisterFlagCompletionFunc(f.Name, func(_ *cobra.Command, _ []string, typed string) (
					[]cobra.Completion, cobra.ShellCompDirective) {
					return choices(chooser, typed)
				})
			}
		})
	}
}

// choices are what may be put for the beginning of a value.
func choices(chooser Chooser, typed string) (found []cobra.Completion,
	then cobra.ShellCompDirective) {
	words, list := chooser.Choices()
	before, then := "", cobra.ShellCompDirectiveNoFileComp
	if list {
		at := strings.LastIndexByte(typed, ',') + 1
		if item := typed[at:]; item != "" && strings.ContainsAny(item[:1], "+-") { // of a feature
			at++
		}
		before = typed[:at]
		then |= cobra.ShellCompDirectiveNoSpace
	}
	for _, word := range words {
		if strings.HasPrefix(before+word, typed) {
			found = append(found, before+word)
		}
	}
	return found, then
}
