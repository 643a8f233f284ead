package cli

import (
	"fmt"
	"os"
	"strings"
)

// expandParamFiles replaces each argument @FILE by the lines of FILE, one argument per line. FILE
// has the format that Bazel writes with set_param_file_format("multiline"): no quoting and no
// comments. A line that begins with @ is refused; write ./@path if a path begins with @.
func expandParamFiles(args []string) ([]string, error) {
	out := make([]string, 0, len(args))
	for _, a := range args {
		if !strings.HasPrefix(a, "@") {
			out = append(out, a)
			continue
		}
		path := a[1:]
		if path == "" {
			return nil, Usagef("argument @ doesn't name a parameter file")
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("parameter file: %w", err)
		}
		number := 0
		for line := range strings.Lines(string(data)) {
			number++
			line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
			if strings.HasPrefix(line, "@") {
				return nil, Usagef("%s:%d: a parameter file cannot name another (%s);"+
					" write ./@… for a path that begins with @", path, number, line)
			}
			if strings.Contains(line, "\x00") {
				return nil, Usagef("%s:%d: a NUL byte; a parameter file is text with one argument per line",
					path, number)
			}
			out = append(out, line)
		}
	}
	return out, nil
}
