package debugfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestDebugFile looks for the debug file of bin/a in directory trees. A script makes each tree from
// a.debug and from other.debug, which comes from another build.
func TestDebugFile(t *testing.T) {
	const prepare = `
		mkdir -p bin/.debug d/.build-id/01
		echo 'int main(void) { return 0; }' | gcc -g -xc - -o a -Wl,--build-id=0x0102
		echo 'int x;' | gcc -g -xc - -shared -o other.debug -Wl,--build-id=0x0103
		objcopy --only-keep-debug a a.debug
		objcopy -S --add-gnu-debuglink=a.debug a bin/a
		`
	const noID = `
		objcopy -R .note.gnu.build-id a.debug
		objcopy -R .note.gnu.build-id -R .gnu_debuglink bin/a
		objcopy --add-gnu-debuglink=a.debug bin/a
		mv a.debug bin
		`
	for _, tt := range []struct {
		name, script string
		search       *Search
		found, told  string
		err          string
	}{
		{"by its build-id", "mv a.debug d/.build-id/01/02.debug", &Search{Dirs: []string{"c", "d"}},
			"d/.build-id/01/02.debug", "bin/a: its debug file is d/.build-id/01/02.debug", ""},
		{"beside it", "mv a.debug bin", &Search{Dirs: []string{"d"}}, "bin/a.debug",
			"bin/a: its debug file is bin/a.debug", ""},
		{"in .debug", "mv a.debug bin/.debug", &Search{Dirs: []string{"d"}}, "bin/.debug/a.debug",
			"bin/a: its debug file is bin/.debug/a.debug", ""},
		{"in the same directory below another one", "mkdir -p d/$PWD/bin; mv a.debug d/$PWD/bin",
			&Search{Dirs: []string{"d"}}, "d/{dir}/bin/a.debug",
			"bin/a: its debug file is d/{dir}/bin/a.debug", ""},
		{"of another build", "cp other.debug bin/a.debug; cp a bin/.debug/a.debug",
			&Search{Dirs: []string{"d"}}, "bin/.debug/a.debug", "bin/a: its debug file is", ""},
		{"by its CRC", noID, &Search{Dirs: []string{"d"}}, "bin/a.debug",
			"bin/a: its debug file is bin/a.debug", ""},
		{"with another CRC", noID + "echo >> bin/a.debug", &Search{Dirs: []string{"d"}}, "",
			"bin/a: no debug file at bin/a.debug (its CRC is ", ""},
		{"named with another CRC", noID + "echo >> bin/a.debug", &Search{Named: []string{"bin/a.debug"}},
			"", "", "bin/a: no DWARF (.debug_info), and no --debug-file is its separate debug file: " +
				"bin/a.debug (its CRC is "},
		{"nowhere", "cp other.debug bin/a.debug; cp bin/a bin/.debug/a.debug; " +
			"echo > d/.build-id/01/02.debug", &Search{Dirs: []string{"d"}}, "",
			"bin/a: no debug file at d/.build-id/01/02.debug (not an ELF file), bin/a.debug (its build-id " +
				"is 0103, not 0102), bin/.debug/a.debug (no DWARF), d/{dir}/bin/a.debug", ""},
		{"nothing is looked for", "mv a.debug bin", &Search{Dirs: []string{""}}, "", "", ""},
		{"named", "mv a.debug x", &Search{Named: []string{"", "other.debug", "x"}}, "x", "", ""},
		{"named, with the DWARF of the whole file", "", &Search{Named: []string{"a"}}, "a", "", ""},
		{"named, by its CRC", noID, &Search{Named: []string{"other.debug", "bin/a.debug"}},
			"bin/a.debug", "", ""},
		{"named, nothing identifies it", noID + "objcopy -R .gnu_debuglink bin/a",
			&Search{Named: []string{"other.debug", "bin/a.debug"}}, "bin/a.debug", "", ""},
		{"one with a build-id", "objcopy -R .note.gnu.build-id -R .gnu_debuglink bin/a",
			&Search{Named: []string{"a.debug"}}, "", "", ""},
		{"one that isn't detached", noID + "objcopy -R .gnu_debuglink bin/a",
			&Search{Named: []string{"other.debug"}}, "", "", ""},
		{"named, of another build", "cp a.debug bin", &Search{Named: []string{"other.debug", "bin/a"}},
			"", "", "bin/a: no DWARF (.debug_info), and no --debug-file is its separate debug file: " +
				"other.debug (its build-id is 0103, not 0102), bin/a (it has no DWARF (.debug_info)); " +
				"pass the debug file from the same link"},
		{"none is named", "cp a.debug bin", &Search{Named: []string{}}, "", "", ""},
		{"other files are named", "ar rc x.a other.debug; cp a.debug bin; " +
			"objcopy --rename-section .debug_info=.debug_info.dwo a x; cp x x.dwo",
			&Search{Named: []string{"x.a", "x.dwo", "x"}}, "", "", ""},
		{"named is missing", "cp a bin/a", &Search{Named: []string{"x"}}, "", "", "stat x: no such file"},
		{"named is no ELF file", "echo > x", &Search{Named: []string{"x"}}, "", "", "x: not an ELF file"},
		{"named for a file with DWARF", "cp a bin/a", &Search{Named: []string{"a.debug"}}, "", "", ""},
		{"a file with DWARF", "cp a bin/a; cp a.debug bin", &Search{Dirs: []string{"d"}}, "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			programtest.Shell(t, dir, prepare+tt.script)
			var told []string
			tt.search.Tell = func(line string) { told = append(told, line) }
			f, err := tt.search.Open("bin/a")
			if err != nil {
				if got := err.Error(); tt.err == "" || !strings.Contains(got, tt.err) {
					t.Errorf("error %s, want %q", got, tt.err)
				}
				return
			}
			defer f.Close()
			inDir := func(s string) string { return strings.ReplaceAll(s, "d/{dir}", "d"+dir) }
			if tt.found == "" {
				tt.found = "bin/a"
			}
			if f.Path != inDir(tt.found) || tt.err != "" {
				t.Errorf("found %s, want %s, %s", f.Path, inDir(tt.found), tt.err)
			}
			if line := strings.Join(told, "\n"); !strings.HasPrefix(line, inDir(tt.told)) ||
				tt.told == "" && line != "" {
				t.Errorf("told %q, want %q", line, inDir(tt.told))
			}
			text := f.Section(".text")
			if data, err := text.Data(); err != nil || uint64(len(data)) != text.Size {
				t.Errorf("%d bytes of .text, want %d: %v", len(data), text.Size, err)
			}
		})
	}
}

// TestLookAtItself: a file whose .gnu_debuglink names that very file is not its own debug file.
func TestLookAtItself(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	write(t, path, fileOf(t, debuglink, "a\x00\x00\x00\x00\x00\x00\x00"))
	must.OK(t, os.Symlink(path, path+".debug"))
	f, err := (&Search{Dirs: []string{"d"}}).Open(path)
	if err != nil || f.Path != path {
		t.Errorf("%v", err)
	}
	f.Close()
}
