package debugfile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// TestSupplementOf reads the sections that name a supplementary file.
func TestSupplementOf(t *testing.T) {
	for _, tt := range []struct {
		name     string
		sections []string
		want     string
	}{
		{"none", []string{".text", "x"}, ""},
		{"an empty one", []string{altlink, ""}, ""},
		{"GNU's", []string{altlink, "../x.dwz\x00\x01\x02"}, "../x.dwz 0102"},
		{"GNU's before DWARF's", []string{debugSup, sup(0, "y", "z"), altlink, "x\x00\x01"}, "x 01"},
		{"DWARF 5's", []string{debugSup, sup(0, "x.dwz", "\x01\x02")}, "x.dwz 0102"},
		{"DWARF 5's without checksum", []string{debugSup, sup(0, "x.dwz", "")}, "x.dwz "},
		{"of a supplementary file", []string{debugSup, sup(1, "", "\x01")}, ""},
		{"no name", []string{altlink, "\x00\x01"}, "doesn't hold a name, a NUL and a build-id"},
		{"no end", []string{altlink, "name"}, "doesn't hold a name, a NUL and a build-id"},
		{"no build-id", []string{altlink, "name\x00"}, "doesn't hold a name, a NUL and a build-id"},
		{"a long build-id", []string{altlink, "name\x00" + strings.Repeat("x", 257)},
			"doesn't hold a name, a NUL and a build-id"},
		{"no name in .debug_sup", []string{debugSup, sup(0, "", "x")}, "doesn't hold a name"},
		{"cut off in the version", []string{debugSup, "\x05"}, "doesn't hold a version"},
		{"cut off in the name", []string{debugSup, "\x05\x00\x00name"}, "doesn't hold a version"},
		{"cut off in the size", []string{debugSup, "\x05\x00\x00name\x00\x80"}, "doesn't hold a version"},
		{"cut off in the checksum", []string{debugSup, "\x05\x00\x00name\x00\x03ab"},
			"doesn't hold a version"},
		{"a large size",
			[]string{debugSup, "\x05\x00\x00name\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"},
			"doesn't hold a version"},
		{"a later version", []string{debugSup, "\x06\x00\x00name\x00\x00"}, "version 6 with flag 0"},
		{"another flag", []string{debugSup, "\x05\x00\x02name\x00\x00"}, "version 5 with flag 2"},
	} {
		s, err := supplementOf(parse(t, fileOf(t, tt.sections...)))
		got := ""
		switch {
		case err != nil:
			got = err.Error()
		case s != nil:
			got = fmt.Sprintf("%s %x", s.name, s.id)
		}
		if err == nil && got != tt.want || err != nil && !strings.Contains(got, tt.want) ||
			tt.want == "" && err != nil {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestStripLink(t *testing.T) {
	for _, tt := range []struct {
		name, section, want string
	}{
		{"of three letters", "x.d\x00\x01\x02\x03\x04", "x.d 04030201"},
		{"padded", "x.debug\x00\x01\x02\x03\x04", "x.debug 04030201"},
		{"padded more", "x\x00\x00\x00\x01\x00\x00\x00", "x 00000001"},
		{"without CRC", "x.debug\x00\x01\x02\x03", ""},
		{"without end", "x.debug", ""},
		{"without name", "\x00\x00\x00\x00\x01\x02\x03\x04", ""},
	} {
		name, crc, ok := stripLink(parse(t, fileOf(t, debuglink, tt.section)))
		if got := fmt.Sprintf("%s %08x", name, crc); ok != (tt.want != "") || ok && got != tt.want {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, ok, tt.want)
		}
	}
}

// FuzzLinks reads the sections that name other files.
func FuzzLinks(f *testing.F) {
	f.Add([]byte("x.dwz\x00\x01"), []byte(sup(0, "x", "y")), []byte("x.debug\x00\x01\x02\x03\x04"))
	f.Add([]byte{}, []byte(sup(1, "", "y")), []byte{})
	f.Add([]byte{}, []byte("\x05\x00\x00name\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), []byte{})
	f.Fuzz(func(t *testing.T, alt, debug, link []byte) {
		file := parse(t, fileOf(t, altlink, string(alt), debugSup, string(debug), debuglink,
			string(link)))
		s := &Search{Dirs: []string{"/nowhere"}}
		if link, err := supplementOf(file); err == nil && link != nil {
			if len(s.supplements(file, link)) == 0 {
				t.Errorf("nowhere to look for %q", link.name)
			}
			_, _ = link.mismatch(file)
		}
		_ = s.debugFiles(file)
		_ = mismatch(file, new(elf.File))
	})
}
