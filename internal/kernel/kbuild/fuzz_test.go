package kbuild

import (
	"strings"
	"testing"
)

func FuzzMap(f *testing.F) {
	f.Add(ldMap)
	f.Add(lldMap)
	f.Add("Archive member included\n\na.o\nb.a(c.o)\nLOAD d.o")
	f.Fuzz(func(t *testing.T, text string) {
		objects, err := parseMap(strings.NewReader(text))
		if (err == nil) != (len(objects) > 0) {
			t.Errorf("%d objects, error %v", len(objects), err)
		}
		for _, o := range objects {
			if !strings.HasSuffix(o.name, ".o") || !strings.Contains(text, o.name) {
				t.Errorf("an object %q, which the text does not name", o.name)
			}
		}
	})
}

func FuzzCommand(f *testing.F) {
	f.Add(objectCommand)
	f.Add(linkCommand)
	f.Add("cmd_a := b 'c d' \"e\\\n")
	f.Fuzz(func(t *testing.T, text string) {
		c := parseCommand(text)
		if inputs := linkerInputs(c.words); len(inputs) > len(c.words) {
			t.Errorf("%d inputs in %d words", len(inputs), len(c.words))
		}
		hasDebug(c.words)
	})
}

func FuzzMod(f *testing.F) {
	f.Add("fs/fat/cache.o\nfs/fat/dir.o\n")
	f.Add("fs/fat/cache.o fs/fat/dir.o\nprintk kfree\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, o := range parseMod(text) {
			if !strings.HasSuffix(o, ".o") || strings.ContainsAny(o, " \n") {
				t.Errorf("an object %q", o)
			}
		}
	})
}
