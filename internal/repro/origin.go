package repro

import (
	"path"
	"strings"

	"github.com/rules-btf/rules_btf/internal/repro/execlog"
)

// origin says where an input that differs comes from.
type origin struct {
	action   int    // the action that made it, or -1 if the origin is a cause
	path     string // if the input is a link: the path of the file that it leads to
	what     string // how the text of the cause begins, such as "source file "
	note     string
	unlogged bool // whether something that is not in the logs made it
}

// maxLinksFollowed limits how many links in a chain are followed.
const maxLinksFollowed = 40

func (c *comparison) origin(in inputChange) origin {
	o := origin{action: -1}
	name := in.path
	for range maxLinksFollowed {
		makerA, makerB := c.maker(0, name, in.of[0]), c.maker(1, name, in.of[1])
		if found, ok := c.made(in, makerA, makerB); ok {
			found.path = o.path
			return found
		}
		next, ok := c.sides[1].links[name]
		if !ok {
			next, ok = c.sides[0].links[name]
		}
		if !ok || next == name {
			break
		}
		name, o.path = next, c.paths.names[next]
	}
	switch file := c.paths.names[name]; {
	case strings.HasPrefix(file, outRoot):
		o.unlogged = true
		o.what = "generated file "
		o.note = "no logged action makes this file: Bazel makes it, or it was up to date"
	case strings.HasPrefix(file, "external/"):
		o.what, o.note = "external file ", "a file from an external repository"
	default:
		o.what, o.note = "source file ", "a source file"
	}
	if o.path != "" {
		o.note = "a link to " + o.path + ", " + o.note
	}
	return o
}

// made returns the origin of an input that spawn a made in A and spawn b in B; -1 means no spawn.
func (c *comparison) made(in inputChange, a, b int) (origin, bool) {
	o := origin{action: -1}
	actA, actB := -1, -1
	if a >= 0 {
		actA = c.actionOf[0][a]
	}
	if b >= 0 {
		actB = c.actionOf[1][b]
	}
	one, only := max(actA, actB), min(actA, actB) < 0
	switch {
	case one < 0:
		return o, false
	case in.of[0] < 0 || in.of[1] < 0:
		o.what, o.note = "input ", "an output of "+c.nameOf(one)
	case only:
		o.what, o.note = "generated file ", "only one of the logs has the action that makes it: "+
			c.nameOf(one)
	case actA != actB:
		o.what, o.note = "input ", "different actions make it: "+c.nameOf(actA)+" in A, "+
			c.nameOf(actB)+" in B"
	default:
		o.action = actA
	}
	return o, true
}

// maker returns the spawn that made the artifact with this id at a path, or -1.
func (c *comparison) maker(i int, name int32, id int64) int {
	if id < 0 {
		return -1
	}
	s := c.sides[i]
	if found := s.pick(s.makers[name], id); found >= 0 {
		return found
	}
	file := s.log.Artifact(execlog.ID(id)).Path
	if !strings.HasPrefix(file, outRoot) {
		return -1
	}
	// With path mapping, the reader and the maker of a file may have different paths for the file.
	for _, spawn := range s.stripped[withoutConfiguration(file)] {
		if s.makes(int(spawn), s.content[id]) {
			return int(spawn)
		}
	}
	// The file may be in a directory that is an output.
	for dir := path.Dir(file); dir != "." && dir != "/" && dir+"/" != outRoot; dir = path.Dir(dir) {
		if list := s.stripped[withoutConfiguration(dir)]; len(list) > 0 {
			return int(list[0])
		}
	}
	return -1
}

// pick returns the spawn that makes an artifact with the right content, or else the first spawn.
func (s *side) pick(spawns []int32, id int64) int {
	for _, spawn := range spawns {
		if s.makes(int(spawn), s.content[id]) {
			return int(spawn)
		}
	}
	if len(spawns) > 0 {
		return int(spawns[0])
	}
	return -1
}

func (s *side) makes(spawn int, content int32) bool {
	for _, o := range s.log.Spawns[spawn].Outputs {
		if !o.Invalid && s.content[o.Artifact] == content {
			return true
		}
	}
	return false
}

func (c *comparison) nameOf(act int) string {
	return c.report.Actions[act].Mnemonic + " " + c.report.Actions[act].Label
}
