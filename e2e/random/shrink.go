package random

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Shrink simplifies p and o until the deadline, in such a way that the check fails as before.
func Shrink(p *Program, o Options, seed uint64, c Check, cause error, cache string, tools Tools,
	deadline time.Time) (Options, error) {
	s := &shrinker{p: p, o: o, seed: seed, check: c, cause: cause, cache: cache, tools: tools,
		deadline: deadline}
	for changed := true; changed && !s.late(); {
		changed = s.units()
		changed = s.nodes() || changed
		changed = s.roots() || changed
		changed = s.options() || changed
	}
	return s.o, s.cause
}

type shrinker struct {
	p        *Program
	o        Options
	seed     uint64
	check    Check
	cause    error // the last failure of the check
	cache    string
	tools    Tools
	deadline time.Time
}

func (s *shrinker) late() bool { return time.Now().After(s.deadline) }

// fails reports whether the program still fails in the same way with options o.
func (s *shrinker) fails(o Options) bool {
	if s.late() || !s.check.Applies(s.p, o) {
		return false
	}
	dir, err := os.MkdirTemp("", "shrink")
	if err != nil {
		return false
	}
	defer os.RemoveAll(dir)
	b, err := NewBuild(s.p, o, s.seed, dir, s.cache, s.tools)
	if err != nil {
		return false
	}
	const attempts = 2 // a failure that depends on threads doesn't occur every time
	for range attempts {
		if err = s.check.Run(b); err != nil {
			break
		}
		b.made = map[string]bool{}
	}
	if err == nil || NotBuilt(err) || way(err) != way(s.cause) {
		return false
	}
	s.cause = err
	return true
}

// NotBuilt reports whether an error is from a compiler or linker, because the program is invalid.
func NotBuilt(err error) bool {
	var not notBuilt
	return errors.As(err, &not)
}

var particular = regexp.MustCompile(`[0-9]+|'[^']*'|"[^"]*"|\S*/\S*`)

// way returns a text that is the same for failures with the same cause. If a command failed, the
// text is the first line that it printed; otherwise, it is the first words of the message.
func way(err error) string {
	var failed *commandError
	if errors.As(err, &failed) {
		line, _, _ := strings.Cut(failed.result.Stderr+failed.result.Stdout, "\n")
		return failed.argv[1] + ": " + particular.ReplaceAllString(line, "#")
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	words := strings.Fields(line)
	for i, w := range words {
		if strings.ContainsAny(w, "0123456789:") {
			words = words[:i]
			break
		}
	}
	return strings.Join(words[:min(6, len(words))], " ")
}

func (s *shrinker) units() bool {
	changed := false
	for _, u := range s.p.Files() {
		u.gone = true
		if len(s.p.Files()) > 0 && s.fails(s.o) {
			changed = true
			continue
		}
		u.gone = false
	}
	return changed
}

// nodes removes runs of optional pieces; it tries long runs first.
func (s *shrinker) nodes() bool {
	changed := false
	for _, u := range s.p.Files() {
		for size := len(optionals(u.root)) / 2; size >= 1; size /= 2 {
			for from := 0; ; {
				all := optionals(u.root)
				if from >= len(all) || s.late() {
					break
				}
				run := all[from:min(from+size, len(all))]
				for _, n := range run {
					n.gone = true
				}
				if s.fails(s.o) {
					changed = true
					continue
				}
				for _, n := range run {
					n.gone = false
				}
				from += size
			}
		}
	}
	return changed
}

// optionals returns the pieces below n that can be removed. Outer pieces precede inner pieces.
func optionals(n *node) []*node {
	var all []*node
	for _, k := range n.kids {
		if k.gone {
			continue
		}
		if k.optional {
			all = append(all, k)
		}
		all = append(all, optionals(k)...)
	}
	return all
}

// roots removes roots, so that the linker may drop more code.
func (s *shrinker) roots() bool {
	changed := false
	for i := 0; i < len(s.p.Roots); {
		all := s.p.Roots
		s.p.Roots = slices.Delete(slices.Clone(all), i, i+1)
		if !s.o.Collect || !s.p.contains(all[i]) || s.fails(s.o) {
			changed = true
			continue
		}
		s.p.Roots = all
		i++
	}
	return changed
}

func (s *shrinker) options() bool {
	changed := false
	for _, o := range s.o.Simpler() {
		if s.fails(o) {
			s.o, changed = o, true
			break
		}
	}
	return changed
}
