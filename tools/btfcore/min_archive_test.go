package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestMinArchive checks that an archive has the same files as a directory, but no timestamps or
// owners, and that the number of threads and the order of arguments don't matter.
func TestMinArchive(t *testing.T) {
	f := minFiles(t)
	const kernels = "DIR/a.btf DIR/k DIR/two.tar"
	if code, _, stderr := f.run("min --needs DIR/my.needs -d DIR/want " + kernels); code != 0 {
		t.Fatal(stderr)
	}
	want := f.tree("want")
	const reversed = "DIR/two.tar DIR/k DIR/a.btf"
	for ending, program := range map[string]string{".tar": "tar", ".tar.gz": "gzip", ".tar.xz": "xz",
		".tar.zst": "zstd"} {
		t.Run(ending, func(t *testing.T) {
			lines := map[string]string{"first": "-j1 " + kernels, "second": "-j2 " + reversed}
			for name, args := range lines {
				code, stdout, stderr := f.run("min --needs DIR/my.needs -o DIR/" + name + ending + " " + args)
				message := "btfcore: min: minimal BTF of 5 files in DIR/" + name + ending + ", "
				if code != 0 || stdout != "" || !strings.HasPrefix(stderr, message) ||
					strings.Count(stderr, "\n") != 1 {
					t.Fatalf("exit code %d, %s%swant %s", code, stdout, stderr, message)
				}
			}
			if all := f.tree("."); all["first"+ending] != all["second"+ending] {
				t.Error("-j2 with the arguments in reverse order writes different bytes from -j1")
			}
			if code, _, stderr := f.run("min -q --needs DIR/my.needs -o DIR/again" + ending +
				" DIR/want"); code != 0 {
				t.Error(stderr)
			}
			if all := f.tree("."); all["again"+ending] != all["first"+ending] {
				t.Error("an archive made from minimal BTF differs from an archive made from the kernels")
			}
			programtest.Need(t, "tar", program)
			list := strings.Fields(runTar(t, "-tf", f.path("first"+ending)))
			for i, name := range names(want) {
				if len(list) != len(want) || list[i] != "./"+name {
					t.Fatalf("the archive has %q, want %q, each after ./", list, names(want))
				}
			}
			for line := range strings.Lines(runTar(t, "--numeric-owner", "-tvf", f.path("first"+ending))) {
				words := strings.Fields(line)
				if got := strings.Join(append(words[:2:2], words[3:5]...), " "); got !=
					"-r--r--r-- 0/0 1970-01-01 00:00" {
					t.Errorf("%s has an unexpected mode, owner or time: %s", words[5], got)
				}
			}
			got := filepath.Join(t.TempDir(), "got")
			must.OK(t, os.Mkdir(got, 0o777))
			runTar(t, "-C", got, "-xf", f.path("first"+ending))
			if tree := (files{t, got}).tree("."); !maps.Equal(tree, want) {
				t.Errorf("the archive's files or contents differ from the directory's: %q, want %q",
					names(tree), names(want))
			}
			os.Rename(f.path("first"+ending), f.path("min"+ending))
			code, stdout, stderr := f.run("check --needs DIR/my.needs DIR/min" + ending)
			if !strings.Contains(stdout, "loads   min/6.1/x86  reader\n") {
				t.Errorf("check: exit code %d, %s%s", code, stdout, stderr)
			}
		})
	}
}

// TestMinArchiveOfModules checks that the archive for a kernel with modules has the same files as a
// directory.
func TestMinArchiveOfModules(t *testing.T) {
	programtest.Need(t, "tar")
	f := minFiles(t)
	const args = "min --needs DIR/my.needs --needs DIR/net.needs -o DIR/new.tar --module DIR/m " +
		"DIR/a.btf"
	for flags, want := range map[string]string{"": "./net.btf\n./vmlinux.btf\n",
		" --flat": "./vmlinux.btf\n"} {
		code, _, stderr := f.run(args + flags)
		if list := runTar(t, "-tf", f.path("new.tar")); code != 0 || stderr != "" || list != want {
			t.Errorf("%s: exit code %d, %s%swant %s", flags, code, stderr, list, want)
		}
	}
}

// runTar runs tar, and returns what it prints.
func runTar(t *testing.T, args ...string) string {
	t.Helper()
	command := exec.Command("tar", args...)
	command.Env = append(os.Environ(), "TZ=UTC")
	out := must.Get(command.Output())(t)
	return string(out)
}
