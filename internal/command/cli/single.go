package cli

import (
	"io"
	"os"
)

// Single is a command without verbs, whose arguments are its own affair: one that takes the place
// of another program.
type Single struct {
	Name string // as users type it
	Run  Run    // gets all arguments; the common flags of its Env are zero, Jobs too

	Stdout, Stderr io.Writer // nil means os.Stdout, os.Stderr
}

// Main runs the command on the process's arguments and exits.
func (s *Single) Main() {
	removeTempsOnSignal()
	os.Exit(s.Exec(os.Args[1:]))
}

// Exec runs the command and returns the exit code.
func (s *Single) Exec(args []string) (code int) {
	env := newEnv(s.Name, nil, s.Stdout, s.Stderr)
	return env.exitCode(func() error { return s.Run(env, args) })
}
