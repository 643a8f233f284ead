package cli

import (
	"fmt"
	"os"
	"strings"
)

// Allow has the values of the flags --allow and --allow-file, which allow certain differences.
type Allow struct {
	values []string
	file   string
}

// AllowVar defines the flags --allow and --allow-file. The parameter usage describes --allow.
func (f *FlagSet) AllowVar(a *Allow, usage string) {
	f.StringArrayVar(&a.values, "allow", nil, usage+"; repeat the flag for several")
	f.InputVar(&a.file, "allow-file", "a `FILE` with one value of --allow per line")
}

// Given reports whether one of the flags was given.
func (a *Allow) Given() bool { return len(a.values) > 0 || a.file != "" }

// ReadAllowed parses the values of --allow and the lines of --allow-file. In the file, empty lines
// and lines that begin with # are skipped.
func ReadAllowed[T any](a *Allow, parse func(string) (T, error)) ([]T, error) {
	var list []T
	for _, text := range a.values {
		x, err := parse(text)
		if err != nil {
			return nil, Usagef("--allow: %v", err)
		}
		list = append(list, x)
	}
	if a.file == "" {
		return list, nil
	}
	data, err := os.ReadFile(a.file)
	if err != nil {
		return nil, err
	}
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		x, err := parse(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", a.file, n, err)
		}
		list = append(list, x)
	}
	return list, nil
}
