package kbuild

import (
	"fmt"
	"path"
	"strings"
)

func (r *reader) modules(o Options) (list []Linked, err error) {
	text, err := r.read("modules.order")
	if err != nil {
		return nil, err
	}
	paths := map[string]string{}
	for line := range strings.FieldsSeq(text) {
		stem, err := r.moduleStem(line)
		if err != nil {
			return nil, err
		}
		m := Linked{Name: path.Base(stem), Path: stem + ".ko"}
		switch other := paths[m.Name]; {
		case other == m.Path:
			continue // repeated because two Makefiles name the same directory
		case other != "":
			return nil, fmt.Errorf("%s: %s and %s are both the module %s, but the kernel loads only "+
				"one: rename one of them (obj-m in its Makefile), or remove it", r.path("modules.order"),
				other, m.Path, m.Name)
		case !r.exists(m.Path):
			if root := rootByModule(r.dir, m.Path); root != "" && !r.exists("vmlinux") {
				return nil, partOf(r.dir, root)
			}
			return nil, fmt.Errorf("%s: missing, but listed in modules.order: run make modules, or "+
				"leave modules out (modules = \"none\")", r.path(m.Path))
		}
		paths[m.Name] = m.Path
		if !o.Whole {
			objects, err := r.linkedInModule(stem)
			if err != nil {
				return nil, err
			}
			if m.Objects, err = r.withTypes(m.Path, objects); err != nil {
				return nil, err
			}
		}
		list = append(list, m)
	}
	return list, nil
}

// moduleStem returns the path of a module without ".ko". The module's line in modules.order is
// fs/fat/fat.o; before Linux 6.3 it was fs/fat/fat.ko, and before Linux 5.4 kernel/fs/fat/fat.ko.
func (r *reader) moduleStem(line string) (string, error) {
	name, err := r.rel(line)
	if err != nil {
		return "", err
	}
	stem := strings.TrimSuffix(strings.TrimSuffix(name, ".o"), ".ko")
	if rest, ok := strings.CutPrefix(stem, "kernel/"); ok && !r.exists(stem+".ko") {
		stem = rest
	}
	return stem, nil
}

// linkedInModule returns the objects of the module stem.ko. The command of the final link names
// stem.o, which is either the output of an earlier link or the module's only object.
// Rule: Kbuild: files from which a module was linked. Source: kernel scripts/Makefile.modfinal,
// scripts/Makefile.build.
func (r *reader) linkedInModule(stem string) (objects []string, err error) {
	inputs := []string{stem + ".o"}
	for _, name := range []string{stem + ".mod.o", ".module-common.o"} {
		if r.exists(name) {
			inputs = append(inputs, name)
		}
	}
	if named, err := r.linkedBy(stem + ".ko"); err != nil {
		return nil, err
	} else if len(named) > 0 {
		inputs = named
	}
	for _, in := range inputs {
		name, err := r.rel(in)
		if err != nil {
			return nil, err
		}
		switch name {
		case stem + ".o", stem + ".prelink.o", stem + ".lto.o":
			parts, err := r.parts(stem)
			if err != nil {
				return nil, err
			}
			objects = append(objects, parts...)
		default:
			objects = append(objects, name)
		}
	}
	return objects, nil
}

// parts returns the objects from which stem.o was linked, or stem.o itself if it was compiled.
// stem.mod lists these objects; before Linux 5.4, the command that linked stem.o named them.
func (r *reader) parts(stem string) (objects []string, err error) {
	if mod := stem + ".mod"; r.note(mod) {
		text, err := r.read(mod)
		if err != nil {
			return nil, err
		}
		for _, o := range parseMod(text) {
			if o, err = r.rel(o); err != nil {
				return nil, err
			}
			objects = append(objects, o)
		}
		if len(objects) == 0 {
			return nil, fmt.Errorf("%s: it lists no objects: build again", r.path(mod))
		}
		return objects, nil
	}
	if named, err := r.linkedBy(stem + ".o"); err != nil {
		return nil, err
	} else if len(named) > 0 {
		return r.expand(named)
	}
	return []string{stem + ".o"}, nil
}

// linkedBy returns the inputs in the command that linked a file, or none if it wasn't linked.
func (r *reader) linkedBy(name string) ([]string, error) {
	command := commandPath(name)
	if !r.note(command) {
		return nil, nil
	}
	text, err := r.read(command)
	if err != nil {
		return nil, err
	}
	c := parseCommand(text)
	if c.source != "" {
		return nil, nil
	}
	return linkerInputs(c.words), nil
}

// parseMod parses a .mod file. The file has one line per object. Before Linux 5.19, the first line
// lists all objects, and the next lines list the symbols that the module needs.
func parseMod(text string) (objects []string) {
	for word := range strings.FieldsSeq(text) {
		if strings.HasSuffix(word, ".o") {
			objects = append(objects, word)
		}
	}
	return objects
}
