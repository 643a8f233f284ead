package kbuild

import (
	"path"
	"strings"
)

// commandFile is what Kbuild keeps of how it made a file, in .NAME.cmd beside that: the command,
// and from fixdep the source.
type commandFile struct {
	words  []string // of the first command; without quotes
	source string   // "" of what is not compiled
}

// commandPath is the path of the .cmd file of a file.
func commandPath(name string) string {
	return path.Join(path.Dir(name), "."+path.Base(name)+".cmd")
}

// parseCommand reads a .cmd file, of the forms "cmd_NAME := ..." (before 6.3), "savedcmd_NAME :=
// ..." and "source_NAME := ...". What it does not understand it leaves out.
func parseCommand(text string) (c commandFile) {
	for _, line := range strings.Split(text, "\n") {
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

// words splits a command at blanks, as a shell does, up to its first ";", "&&" or "|".
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

// linkerInputs returns the objects (.o) and archives (.a) that a linker's command names, in order.
func linkerInputs(command []string) (inputs []string) {
	for i := 0; i < len(command); i++ {
		w := command[i]
		switch {
		case w == "-o" || w == "-T" || w == "-m" || w == "-z":
			i++
		case strings.HasPrefix(w, "-"):
		case strings.HasSuffix(w, ".o") || strings.HasSuffix(w, ".a"):
			inputs = append(inputs, w)
		}
	}
	return inputs
}

// hasDebug reports whether the last of a compiler's options -g asks for DWARF. known is false for a
// command without such an option.
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
