package main

import (
	"bytes"
	stdelf "debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// largeSource is the source of a base that is large enough for an index. A variant has one more
// struct.
func largeSource(variant string) string {
	var source strings.Builder
	source.WriteString(vmlinuxSource)
	for i := range 1500 {
		fmt.Fprintf(&source, "struct driver_%[1]d { struct device device_%[1]d; int count_%[1]d; }\n"+
			"variable_%[1]d;\n", i)
	}
	if variant != "" {
		fmt.Fprintf(&source, "struct %[1]s { int x; } variable_%[1]s;\n", variant)
	}
	return source.String()
}

// largeBase compiles largeSource.
func largeBase(t *testing.T, variant string) string {
	t.Helper()
	path := compile(t, largeSource(variant), "-nostdlib", "-static")
	if code, _, stderr := pahole("-J", path); code != 0 {
		t.Fatal(stderr)
	}
	return path
}

// indices returns the content of all indices in the working directory, by name.
func indices(t *testing.T) map[string][]byte {
	t.Helper()
	found := must.Get(filepath.Glob(".tmp_*"))(t)
	content := map[string][]byte{}
	for _, name := range found {
		content[name] = read(t, name)
	}
	return content
}

// TestIndexOfOtherMachine refuses a base for another machine, with or without an index of it.
func TestIndexOfOtherMachine(t *testing.T) {
	data := read(t, largeBase(t, ""))
	data[18] = byte(stdelf.EM_AARCH64) // e_machine
	module := compile(t, moduleSource, "-c")
	t.Chdir(t.TempDir())
	must.OK(t, os.WriteFile("vmlinux", data, 0o666))
	absolute := must.Get(filepath.Abs("vmlinux"))(t)
	for _, base := range []string{absolute, "vmlinux", "vmlinux"} {
		code, _, stderr := pahole("-J", "--btf_encode_detached=out", "--btf_base="+base, module)
		want := base + " is for EM_AARCH64, but the split BTF is for EM_X86_64"
		if code != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %q", base, code, stderr)
		}
	}
	if n := len(indices(t)); n != 1 {
		t.Errorf("%d indices", n)
	}
}

// TestOtherRelease warns of a module for another release of the kernel than the base, with or
// without an index of the base. An index of the same BTF may be from another release.
func TestOtherRelease(t *testing.T) {
	module := compile(t, moduleSource+
		`__attribute__((section(".modinfo"))) char info[] = "vermagic=7.2.0 SMP ";`, "-c")
	t.Chdir(t.TempDir())
	for _, c := range []struct{ release, warning string }{
		{"7.2.0", ""},
		{"7.2.1", "it was built for the kernel 7.2.0, but the base is the BTF of 7.2.1\n"},
		{"7.2.0", ""},
	} {
		base := compile(t, largeSource("")+"const char linux_banner[] = \"Linux version "+c.release+
			" (user@host)\";", "-nostdlib", "-static")
		if code, _, stderr := pahole("-J", base); code != 0 {
			t.Fatal(stderr)
		}
		must.OK(t, os.WriteFile("vmlinux", read(t, base), 0o666))
		for _, path := range []string{base, "vmlinux", "vmlinux"} {
			code, _, stderr := pahole("-J", "--btf_encode_detached=out", "--btf_base="+path, module)
			if code != 0 || (stderr == "") != (c.warning == "") || !strings.Contains(stderr, c.warning) {
				t.Errorf("%s: exit code %d, %q, want %q", path, code, stderr, c.warning)
			}
		}
	}
	if n := len(indices(t)); n != 1 {
		t.Errorf("%d indices", n)
	}
}

// TestBaseIndex makes the BTF of a module again and again on one base, as a build does for its
// modules. The later calls use the index that the first call leaves.
func TestBaseIndex(t *testing.T) {
	one, other := largeBase(t, ""), largeBase(t, "late")
	module := compile(t, moduleSource, "-c")
	t.Chdir(t.TempDir())
	encode := func(args ...string) []byte {
		t.Helper()
		args = append([]string{"-J", "--btf_features=default", "--btf_encode_detached=out"}, args...)
		if code, _, stderr := pahole(append(args, module)...); code != 0 || stderr != "" {
			t.Fatalf("%q: exit code %d, %s", args, code, stderr)
		}
		return read(t, "out")
	}
	use := func(base string) (want []byte) {
		t.Helper()
		must.OK(t, os.WriteFile("vmlinux", read(t, base), 0o666))
		return expected(t, module, base, features.Default(), "")
	}

	want := use(one)
	absolute := must.Get(filepath.Abs("vmlinux"))(t)
	for _, base := range []string{absolute, one} {
		if got := encode("--btf_base", base); !bytes.Equal(got, want) || len(indices(t)) != 0 {
			t.Errorf("--btf_base %s: different BTF, or an index", base)
		}
	}
	encode("--btf_base=vmlinux", "--btf_features=distilled_base")
	if len(indices(t)) != 0 {
		t.Error("an index for distilled_base, which can't use one")
	}

	var name string
	var index []byte
	for _, base := range []string{"vmlinux", "vmlinux", "./vmlinux"} {
		if got := encode("--btf_base=" + base); !bytes.Equal(got, want) {
			t.Errorf("%s: different BTF", base)
		}
		now := indices(t)
		if len(now) != 1 {
			t.Fatalf("%s: %d indices, want one", base, len(now))
		}
		for name, index = range now {
		}
	}

	// A damaged index is made again.
	index[len(index)/2] ^= 1
	must.OK(t, os.WriteFile(name, index, 0o666))
	if got := encode("--btf_base=vmlinux"); !bytes.Equal(got, want) {
		t.Error("different BTF with a damaged index")
	}
	index[len(index)/2] ^= 1
	if !bytes.Equal(indices(t)[name], index) {
		t.Error("the damaged index was not made again")
	}

	// After another link of the base, its BTF is different.
	want = use(other)
	if got := encode("--btf_base=vmlinux"); !bytes.Equal(got, want) {
		t.Error("wrong BTF after another link of the base")
	}
	if now := indices(t); len(now) != 1 || now[name] != nil {
		t.Errorf("%d indices after another link, the old one among them: %v", len(now),
			now[name] != nil)
	}
}

// TestBaseIndexUnwritable uses a base in a directory where nothing can be written.
func TestBaseIndexUnwritable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("SKIPPED: root may write everywhere")
	}
	base, module := largeBase(t, ""), compile(t, moduleSource, "-c")
	t.Chdir(t.TempDir())
	must.OK(t, os.Mkdir("kernel", 0o777))
	must.OK(t, os.WriteFile("kernel/vmlinux", read(t, base), 0o666))
	must.OK(t, os.Chmod("kernel", 0o555))
	code, _, stderr := pahole("-J", "--btf_features=default", "--btf_base=kernel/vmlinux",
		"--btf_encode_detached=out", module)
	if want := expected(t, module, base, features.Default(), ""); code != 0 ||
		!bytes.Equal(read(t, "out"), want) {
		t.Errorf("exit code %d, %s, or different BTF", code, stderr)
	}
}

// onVmlinux encodes the BTF of a module based on vmlinux in the working directory.
func onVmlinux(t *testing.T, module string) []byte {
	t.Helper()
	if code, _, stderr := pahole("-J", "--btf_features=default", "--btf_base=vmlinux",
		"--btf_encode_detached=out", module); code != 0 || stderr != "" {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	return read(t, "out")
}

// TestForeignIndices puts other files in place of the index. Each must be replaced or left alone.
func TestForeignIndices(t *testing.T) {
	one, other := largeBase(t, ""), largeBase(t, "late")
	module := compile(t, moduleSource, "-c")
	t.Chdir(t.TempDir())
	place := func(base string) (want []byte) {
		must.OK(t, os.WriteFile("vmlinux", read(t, base), 0o666))
		return expected(t, module, base, features.Default(), "")
	}
	index := func() (name string, content []byte) {
		for name, content = range indices(t) {
		}
		return name, content
	}
	place(other)
	onVmlinux(t, module)
	_, foreign := index()
	want := place(one)
	onVmlinux(t, module)
	name, good := index()
	if bytes.Equal(good, foreign) {
		t.Fatal("both bases have one index")
	}

	regular := func(content []byte) func() error {
		return func() error { return os.WriteFile(name, content, 0o666) }
	}
	must.OK(t, os.WriteFile("foreign", foreign, 0o666))
	for _, tt := range []struct {
		what string
		make func() error
		anew bool
	}{
		{"the index of other BTF", regular(foreign), true},
		{"half an index", regular(good[:len(good)/2]), true},
		{"an empty file", regular(nil), true},
		{"BTF", regular(read(t, "out")), true},
		{"ELF", regular(read(t, "vmlinux")), true},
		{"a link to another index", func() error { return os.Symlink("foreign", name) }, false},
		{"a dangling link", func() error { return os.Symlink("nowhere", name) }, false},
		{"a FIFO", func() error { return syscall.Mkfifo(name, 0o666) }, false},
		{"a directory", func() error { return os.Mkdir(name, 0o777) }, false},
	} {
		must.OK(t, errors.Join(os.Remove(name), tt.make()))
		before, err := os.Lstat(name)
		must.OK(t, err)
		if got := onVmlinux(t, module); !bytes.Equal(got, want) {
			t.Errorf("%s: different BTF", tt.what)
		}
		after, err := os.Lstat(name)
		switch {
		case err != nil:
			t.Error(err)
		case tt.anew:
			if !bytes.Equal(read(t, name), good) {
				t.Errorf("%s: it was not made again", tt.what)
			}
		case !os.SameFile(before, after):
			t.Errorf("%s: it was replaced", tt.what)
		}
		if !bytes.Equal(read(t, "foreign"), foreign) {
			t.Errorf("%s: written through the link", tt.what)
		}
	}
}

// TestBaseReplaced replaces a base again and again while indices of the base are made. An
// index of one base must not be used for the other: whichever base is in place, the result must be
// the one for that base.
func TestBaseReplaced(t *testing.T) {
	module := compile(t, moduleSource, "-c")
	var bases, want [2][]byte
	for i, variant := range []string{"", "late"} {
		base := largeBase(t, variant)
		bases[i], want[i] = read(t, base), expected(t, module, base, features.Default(), "")
	}
	t.Chdir(t.TempDir())
	swap := func(i int) {
		// A linker that writes to a new file does the same.
		if err := os.WriteFile("new", bases[i%2], 0o666); err != nil {
			t.Error(err)
		}
		if err := os.Rename("new", "vmlinux"); err != nil {
			t.Error(err)
		}
	}
	swap(0)
	for round := range 20 {
		stop, stopped := make(chan bool), make(chan bool)
		go func() {
			defer close(stopped)
			for i := round; ; i++ {
				select {
				case <-stop:
					return
				default:
					swap(i)
				}
			}
		}()
		got := onVmlinux(t, module)
		close(stop)
		<-stopped
		if !bytes.Equal(got, want[0]) && !bytes.Equal(got, want[1]) {
			t.Fatal("the BTF matches neither base")
		}
		for i := range want {
			kept := indices(t)
			swap(i)
			if !bytes.Equal(onVmlinux(t, module), want[i]) {
				t.Fatalf("round %d: the index of the other base was used", round)
			}
			for name, content := range kept { // the last call removed the index of the other base
				must.OK(t, os.WriteFile(name, content, 0o666))
			}
		}
	}
}
