package elf

import (
	"path/filepath"
	"testing"
)

// exercise reads everything that a file has.
func exercise(f *File) {
	if functions, err := f.Functions(); err == nil {
		for _, fn := range functions.List {
			_ = functions.Symbols.Name(&functions.Symbols.List[fn.Symbol])
		}
	}
	for _, s := range f.Sections {
		data, err := s.Data()
		if err == nil && s.Plain() && len(data) > 0 {
			_, _ = s.ReadAt(make([]byte, 1), int64(len(data)-1))
		}
		_ = f.SectionAt(s.Addr + s.Size/2)
		_ = f.SectionsNamed(s.Name)
	}
}

func FuzzParse(f *testing.F) {
	paths, err := filepath.Glob("testdata/machines/*.gz")
	if err != nil || len(paths) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, p := range paths {
		f.Add(readGzip(f, p))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("fuzz", data)
		if err != nil {
			return
		}
		exercise(file)
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
}

func FuzzArchive(f *testing.F) {
	object := string(readGzip(f, "testdata/machines/i386.o.gz"))
	for _, s := range []string{
		archiveMagic + arMember("/", "sym") + arMember("//", "first/\nsecond name/\n") +
			arMember("/7", "two") + arMember("x.o/", object),
		archiveMagic + arMember("#1/20", "long name of twenty\x00"+object) + arMember("y", "1"),
		thinMagic + arMember("//", "dir/x.o/\ndir/y.a/\n") + arMember("/0", "") + arMember("/9:8", ""),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		members, thin, err := parseArchive("fuzz", data)
		if err != nil || thin {
			return
		}
		for _, m := range members {
			if file, err := Parse(m.Label, data[m.offset:m.offset+m.size]); err == nil {
				exercise(file)
			}
		}
	})
}
