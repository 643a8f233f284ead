package debugfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestSupplement looks for a supplementary file, "x.dwz" with checksum 0102, in directory trees.
func TestSupplement(t *testing.T) {
	right, wrong := sup(1, "", "\x01\x02"), sup(1, "", "\x03")
	needs := "some of the DWARF is in the supplementary file \"../.dwz/x.dwz\" (dwz -m) with " +
		"build-id 0102"
	for _, tt := range []struct {
		name   string
		files  map[string]string // .debug_sup by path; "": no ELF file
		search *Search
		found  string
		err    string
	}{
		{"at its name", map[string]string{".dwz/x.dwz": right}, &Search{Dirs: []string{"d"}},
			".dwz/x.dwz", ""},
		{"named", map[string]string{"x": wrong, "y": right, ".dwz/x.dwz": right},
			&Search{Named: []string{"", "x", "y"}}, "y", ""},
		{"named, of another build", map[string]string{"y": wrong, ".dwz/x.dwz": right},
			&Search{Named: []string{"y"}}, "", needs + ", which is none of y (build-id 03); pass the " +
				"supplementary file from the same run of dwz with --debug-file"},
		{"named, without build-id", map[string]string{"y": sup(1, "", "")}, &Search{Named: []string{"y"}},
			"", needs + ", which is none of y (build-id none)"},
		{"none is named", map[string]string{".dwz/x.dwz": right}, &Search{Named: []string{""}}, "",
			needs + ", but no --debug-file names it; add --debug-file for it"},
		{"named is no ELF file", map[string]string{"y": ""}, &Search{Named: []string{"y"}}, "",
			"y: not an ELF file"},
		{"below another directory", map[string]string{".dwz/x.dwz": wrong, "d/.dwz/x.dwz": right},
			&Search{Dirs: []string{"c", "d"}}, "d/.dwz/x.dwz", ""},
		{"by its build-id", map[string]string{"d/.build-id/01/02.debug": right},
			&Search{Dirs: []string{"c", "d"}}, "d/.build-id/01/02.debug", ""},
		{"several directories", map[string]string{"c/.build-id/01/02.debug": right,
			"d/.dwz/x.dwz": right}, &Search{Dirs: []string{"c", "d"}}, "c/.build-id/01/02.debug", ""},
		{"nowhere", map[string]string{".dwz/x.dwz": wrong, "d/.dwz/x.dwz": ""},
			&Search{Dirs: []string{"d"}}, "", needs + ", which was not found at .dwz/x.dwz (build-id 03), " +
				"d/.dwz/x.dwz, d/.build-id/01/02.debug; pass it with --debug-file, or the directory"},
		{"nothing is looked for", map[string]string{".dwz/x.dwz": right}, &Search{Dirs: []string{""}}, "",
			needs + ", but --debug-dir= turns off the search for it; pass it with --debug-file"},
		{"it needs another one", map[string]string{".dwz/x.dwz": "alt"}, &Search{Dirs: []string{"d"}}, "",
			".dwz/x.dwz: this supplementary file (dwz -m) refers to another one, \"z\""},
		{"a damaged one", map[string]string{".dwz/x.dwz": "\x05"}, &Search{Dirs: []string{"d"}}, "",
			".dwz/x.dwz: section .debug_sup doesn't hold a version"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			write(t, "bin/file", fileOf(t, debugSup, sup(0, "../.dwz/x.dwz", "\x01\x02"),
				".debug_info", "x"))
			for path, section := range tt.files {
				sections := []string{debugSup, section, ".text", path}
				if section == "alt" {
					sections = []string{debugSup, right, altlink, "z\x00\x01", ".text", path}
				}
				data := fileOf(t, sections...)
				if section == "" {
					data = []byte("text")
				}
				write(t, path, data)
			}
			var told []string
			tt.search.Tell = func(line string) { told = append(told, line) }
			f, err := tt.search.Open("bin/file")
			if err != nil {
				t.Fatal(err) // the supplementary file isn't needed yet
			}
			defer f.Close()
			s, err := f.Supplement()
			if err != nil {
				if got := err.Error(); tt.err == "" || !strings.Contains(got, tt.err) {
					t.Errorf("error %s, want %q", got, tt.err)
				}
				return
			}
			if text, err := s.Section(".text").Data(); string(text) != tt.found || err != nil {
				t.Errorf("found %s, %v; want %q, %q", text, err, tt.found, tt.err)
			}
			said := "bin/file: its supplementary file is " + tt.found
			if len(told) != 1 || told[0] != said {
				t.Errorf("told %q", told)
			}
		})
	}
}

// TestSupplementOfLinkedFile: if a file is opened through a symbolic link, such as those in
// .build-id, the name may also be relative to the link's target. An absolute name is used as it is.
func TestSupplementOfLinkedFile(t *testing.T) {
	dir := t.TempDir()
	right := fileOf(t, debugSup, sup(1, "", "\x01\x02"))
	for i, name := range []string{"x.dwz", filepath.Join(dir, "real/x.dwz")} {
		path := filepath.Join(dir, "real", "file"+string(rune('0'+i)))
		write(t, path, fileOf(t, debugSup, sup(0, name, "\x01\x02"), ".debug_info", "x"))
		link := filepath.Join(dir, "link"+string(rune('0'+i)))
		must.OK(t, os.Symlink(path, link))
		write(t, filepath.Join(dir, "real/x.dwz"), right)
		f := must.Get((&Search{Dirs: []string{"d"}}).Open(link))(t)
		defer f.Close()
		if s, err := f.Supplement(); err != nil || s.Path != filepath.Join(dir, "real/x.dwz") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
