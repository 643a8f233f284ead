package kbuild

import (
	"path"
	"strings"
)

// commandFile is the content of .NAME.cmd, which Kbuild writes next to each file NAME that it
// builds: the command, and the source file as fixdep writes it.
type commandFile struct {
	words  []string // the first command, without quotes
	source string   // "" if the file was not compiled
}

func commandPath(name string) string {
	return path.Join(path.Dir(name), "."+path.Base(name)+".cmd")
}

// parseCommand parses a .cmd file with lines such as "cmd_NAME := ..." (before 6.3), "savedcmd_NAME
// := ..." and "source_NAME := ...". It ignores other lines.
func parseCommand(text string) (c commandFile) {
	for line := range strings.SplitSeq(text, "\n") {
		key, value, ok := strings.Cut(line, " := ")
		switch {
		case !ok:
		case strings.HasPrefix(key, "source_"):
			c.source = strings.TrimSpace(value)
		case strings.HasPrefix(key, "cmd_") || strings.HasPrefix(key, "savedcmd_"):
			if c.words == nil {
				c.words = words(value)
			}
		}
	}
	return c
}

// words splits a command into words as a shell does. It stops at the first ";", "&&" or "|".
func words(command string) (list []string) {
	var word strings.Builder
	quote, inWord := byte(0), false
	end := func() {
		if inWord {
			list = append(list, word.String())
		}
		word.Reset()
		inWord = false
	}
	for i := 0; i < len(command); i++ {
		ch := command[i]
		switch {
		case quote != 0 && ch == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(ch)
		case ch == '\'' || ch == '"':
			quote, inWord = ch, true
		case ch == '\\' && i+1 < len(command):
			i++
			word.WriteByte(command[i])
			inWord = true
		case ch == ' ' || ch == '\t':
			end()
		case ch == ';' || ch == '|' || ch == '&':
			end()
			return list
		default:
			word.WriteByte(ch)
			inWord = true
		}
	}
	end()
	return list
}

// linkerInputs returns the objects (.o) and archives (.a) in a linker command, in order.
func linkerInputs(command []string) (inputs []string) {
	value := false // whether w is the value of the previous option
	for _, w := range command {
		isObject := strings.HasSuffix(w, ".o") || strings.HasSuffix(w, ".a")
		if isObject && !value && !strings.HasPrefix(w, "-") {
			inputs = append(inputs, w)
		}
		value = !value && (w == "-o" || w == "-T" || w == "-m" || w == "-z")
	}
	return inputs
}

// hasDebug reports whether the last -g option of a compiler command enables DWARF. known is false
// if there is no such option.
func hasDebug(command []string) (debug, known bool) {
	for _, w := range command {
		switch {
		case w == "-g0" || w == "-Wa,-g0":
			debug, known = false, true
		case w == "-g" || strings.HasPrefix(w, "-gdwarf") || strings.HasPrefix(w, "-Wa,-gdwarf") ||
			len(w) == 3 && w[:2] == "-g" && w[2] >= '1' && w[2] <= '3':
			debug, known = true, true
		}
	}
	return debug, known
}
