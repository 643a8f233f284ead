package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestAnswers uses the options that need no file, as scripts do.
func TestAnswers(t *testing.T) {
	const all = "encode_force,var,float,decl_tag,type_tag,enum64,optimized_func,consistent_func," +
		"decl_tag_kfuncs,reproducible_build,distilled_base,global_var,attributes,true_signature,layout," +
		"inline,force_cu_merging\n"
	for _, tt := range []struct{ version, args, want string }{
		{"", "--version", "v1.32\n"},
		{"1.25", "--version", "v1.25\n"},
		{"v1.08", "--version", "v1.08\n"},
		{"", "--numeric_version", "132\n"},
		{"121", "--numeric_version", "121\n"},
		{"", "--supported_btf_features", all},
		{"1.22", "-J --version", "v1.22\n"},
	} {
		t.Setenv(versionVariable, tt.version)
		code, stdout, stderr := pahole(strings.Fields(tt.args)...)
		if code != 0 || stdout != tt.want || stderr != "" {
			t.Errorf("%s in place of %q: exit code %d, %q, %q", tt.args, tt.version, code, stdout, stderr)
		}
	}
	t.Setenv(versionVariable, "")
	for _, args := range []string{"--help", "-?", "--usage", "--help --bogus"} {
		// samples/bpf/Makefile looks for the word BTF.
		code, stdout, stderr := pahole(strings.Fields(args)...)
		if code != 0 || !strings.Contains(stdout, "BTF") || stderr != "" {
			t.Errorf("%s: exit code %d, %q, %q", args, code, stdout, stderr)
		}
	}
}

// TestUnusuallyCompressed follows the advice in the error about sections that are far smaller when
// compressed.
func TestUnusuallyCompressed(t *testing.T) {
	path := compile(t, vmlinuxSource+`asm(".section .debug_zeros\n.zero 16 << 20\n.text");`, "-c")
	want := expected(t, path, "", features.Default(), "")
	const program = "llvm-objcopy" // older GNU objcopy has its own limit
	objcopy := func(flag string) {
		programtest.Run(t, "", program, flag, path)
	}
	objcopy("--compress-debug-sections=zlib")
	out := filepath.Join(t.TempDir(), "out")
	args := []string{"-J", "--btf_features=default", "--btf_encode_detached=" + out, path}
	const cure = "--decompress-debug-sections"
	if code, _, stderr := pahole(args...); code != 1 || !strings.Contains(stderr, program+" "+cure) {
		t.Fatalf("exit code %d, %q", code, stderr)
	}
	objcopy(cure)
	if code, _, stderr := pahole(args...); code != 0 || !bytes.Equal(read(t, out), want) {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

// TestInPlace puts BTF into a file that has a special mode, a second name, and old BTF.
func TestInPlace(t *testing.T) {
	path := copied(t, compile(t, vmlinuxSource, "-nostdlib", "-static"))
	link := filepath.Join(t.TempDir(), "link")
	must.OK(t, os.Symlink(path, link))
	must.OK(t, os.Chmod(path, 0o751))
	want := expected(t, path, "", features.Default(), "")
	var first []byte
	for _, args := range [][]string{{"-j1"}, {"-j8"}, {"--jobs=nonsense"}, {}, {"-V"}} {
		args = append([]string{"-J", "--btf_features=default", link}, args...)
		code, stdout, stderr := pahole(args...)
		if code != 0 {
			t.Fatalf("%q: %s", args, stderr)
		}
		verbose, skipped := slices.Contains(args, "-V"), ""
		if verbose {
			skipped = "probe : skipping BTF encoding of function due to unexpected register usage for " +
				"parameter\nshrink : skipping BTF encoding of function due to optimized parameters\n"
		}
		if strings.Contains(stderr, "pahole: link:") != verbose || stdout != skipped {
			t.Errorf("%q: %q, %q", args, stdout, stderr)
		}
		data := read(t, path)
		f, err := elf.Parse(path, data)
		must.OK(t, err)
		if s := f.Section(".BTF"); s == nil || !bytes.Equal(s.Raw(), want) {
			t.Errorf("%q: different BTF", args)
		}
		if first == nil {
			first = data
		} else if !bytes.Equal(data, first) {
			t.Errorf("%q: different bytes", args)
		}
		info, err := os.Lstat(link)
		if err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Error("the symbolic link is gone")
		}
		if info, err = os.Stat(path); err != nil || info.Mode() != 0o751 {
			t.Errorf("mode %v", info.Mode())
		}
	}
	if list, _ := os.ReadDir(filepath.Dir(path)); len(list) != 1 {
		t.Errorf("left beside it: %v", list)
	}
}

// TestLoaded encodes a program that, like vmlinux, already has loaded BTF. The new BTF has a
// different size. The program runs as before, and readers of the file find the new BTF.
func TestLoaded(t *testing.T) {
	path := compile(t, `int main(void) { return 42; }
		asm(".section .BTF,\"a\"; .fill 24; .text");`, "-Wl,-z,noexecstack")
	want := expected(t, path, "", features.Default(), "")
	code, _, stderr := pahole("-J", "--btf_features=default", path)
	if code != 0 || !strings.Contains(stderr, "the file's loaded .BTF has a different size, "+
		"so it was not replaced") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	f := must.Get(elf.Parse(path, read(t, path)))(t)
	if s := f.Section(".BTF"); s.Alloc() || !bytes.Equal(s.Raw(), want) {
		t.Errorf("%+v", s)
	}
	if err := exec.Command(path).Run(); err == nil || err.Error() != "exit status 42" {
		t.Error("the program ends with", err)
	}
}

// TestSeveral encodes files one by one.
func TestSeveral(t *testing.T) {
	a := copied(t, compile(t, vmlinuxSource, "-c"))
	b := copied(t, compile(t, moduleSource, "-c"))
	if code, _, stderr := pahole("-J", a, b); code != 0 || stderr != "" {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	legacy := features.Of(features.Var, features.DeclTag, features.TypeTag, features.Enum64)
	for _, path := range []string{a, b} {
		f := must.Get(elf.Parse(path, read(t, path)))(t)
		if s := f.Section(".BTF"); s == nil || !bytes.Equal(s.Raw(), expected(t, path, "", legacy, "")) {
			t.Errorf("%s has different BTF", path)
		}
	}
}

// TestNothingToEncode encodes files without DWARF or types. As with pahole, that succeeds, because
// a kernel has such files. But there is a warning, and nothing is written.
func TestNothingToEncode(t *testing.T) {
	plain := compile(t, "int x;", "-c", "-g0")
	c89 := compile(t, "int x; int f(void) { return x; }", "-c", "-std=c89")
	none := compile(t, "int x;", "-c")
	base := write(t, "base.btf", expected(t, compile(t, vmlinuxSource, "-c"), "", features.Default(),
		""))
	out := filepath.Join(t.TempDir(), "out.btf")
	for _, tt := range []struct {
		path, exclude, environment string
		args                       []string
		want                       string
	}{
		{plain, "", "", []string{"-J"}, "no DWARF (.debug_info)"},
		{plain, "", "", []string{"--btf_encode_detached", out}, "no BTF is written"},
		{plain, "", "", []string{"-Jq"}, ""},
		{c89, "c89", "", []string{"-J", "--lang_exclude=c89"}, "excludes all compilation units"},
		{c89, "c89", "rust,c89", []string{"-J", "--btf_base", base}, "excludes all compilation units"},
		{none, "", "", []string{"-J"}, "the DWARF has no types"},
	} {
		t.Setenv(excludeVariable, tt.environment)
		path := copied(t, tt.path)
		code, stdout, stderr := pahole(append(tt.args, path)...)
		if code != 0 || stdout != "" || !strings.Contains(stderr, tt.want) ||
			(tt.want == "") != (stderr == "") || strings.Count(stderr, "\n") > 1 {
			t.Errorf("%q: exit code %d, %q, %q; want %q", tt.args, code, stdout, stderr, tt.want)
		}
		if !bytes.Equal(read(t, path), read(t, tt.path)) {
			t.Errorf("%q: the file has changed", tt.args)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%q: there is an output", tt.args)
		}
	}
	t.Setenv(excludeVariable, "")
	// Split BTF is written even if it has no types: then all of the module's types are in its base.
	path := copied(t, none)
	if code, _, stderr := pahole("-J", "--btf_base", base, path); code != 0 || stderr != "" {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if f, err := elf.Parse(path, read(t, path)); err != nil || f.Section(".BTF") == nil {
		t.Errorf("no .BTF, %v", err)
	}
}

// TestErrors runs wrong command lines and passes wrong files. The files don't change.
func TestErrors(t *testing.T) {
	good, c := compile(t, vmlinuxSource, "-c"), "int x; int f(void) { return x; }"
	text := write(t, "text", []byte("no ELF file at all\n"))
	cut := write(t, "cut.o", read(t, good)[:2000])
	damaged := read(t, good)
	f := must.Get(elf.Parse(good, damaged))(t)
	info := f.Section(".debug_info")
	for i := range damaged[info.Offset:][:200] {
		damaged[info.Offset:][i] ^= 0x5a
	}
	signed := append(read(t, good), "signature~Module signature appended~\n"...)
	with := compile(t, c, "-c")
	for _, tt := range []struct {
		version string
		args    []string
		code    int
		want    string
	}{
		{"", []string{}, 2, "-J or --btf_encode_detached=FILE is missing"},
		{"", []string{good}, 2, "-J or --btf_encode_detached=FILE is missing"},
		{"", []string{"-J"}, 2, "FILE is missing"},
		{"", []string{"-J", "--bogus", good}, 2, "unknown flag: --bogus: this pahole"},
		{"", []string{"-J", "-C", "device", good}, 2, "bpftool btf dump"},
		{"", []string{"--sizes", good}, 2, "unknown flag: --sizes: this pahole only encodes BTF"},
		{"", []string{"-J", "--lang=c", good}, 2, "unknown flag: --lang"},
		{"", []string{"-J", "-F", "btf", good}, 2, "BTF is encoded from DWARF only"},
		{"", []string{"-J", "--btf_base=", good}, 2, "specify a file"},
		{"", []string{"--btf_encode_detached=", good}, 2, "specify a file"},
		{"", []string{"--btf_encode_detached=x", good, with}, 2, "one file"},
		{"1", []string{"-J", good}, 2, "RULES_BTF_PAHOLE_VERSION=1"},
		{"", []string{"-J", "--btf_features_strict=var,vars", good}, 1, `unknown feature "vars"`},
		{"", []string{"-J", "--lang_exclude=klingon", good}, 1, `unknown language "klingon"`},
		{"", []string{"-J", "--btf_base=" + text, good}, 1, text + ": "},
		{"", []string{"-J", "--btf_base=/no/such/file", good}, 1, "/no/such/file"},
		{"", []string{"-J", "--btf_base=" + good, good}, 1, good + ": "},
		{"", []string{"-J", "/no/such/file"}, 1, "/no/such/file"},
		{"", []string{"-J", text}, 1, text + ": "},
		{"", []string{"-J", cut}, 1, cut + ": truncated"},
		{"", []string{"-J", write(t, "damaged.o", damaged)}, 1, "damaged.o: .debug_info"},
		{"", []string{"-J", write(t, "signed.ko", signed)}, 1, "the kernel module is signed"},
		{"", []string{"-J", filepath.Dir(text)}, 1, "is a directory"},
		{"", []string{"--btf_encode_detached=/no/such/dir/x", good}, 1, "/no/such/dir/x"},
	} {
		t.Setenv(versionVariable, tt.version)
		before := map[string][]byte{}
		for _, arg := range tt.args {
			if info, err := os.Stat(arg); err == nil && info.Mode().IsRegular() {
				before[arg] = read(t, arg)
			}
		}
		code, stdout, stderr := pahole(tt.args...)
		if code != tt.code || stdout != "" || !strings.Contains(stderr, tt.want) ||
			!strings.HasPrefix(stderr, "pahole: ") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: exit code %d, %q, %q; want %d, %q", tt.args, code, stdout, stderr, tt.code,
				tt.want)
		}
		for path, data := range before {
			if !bytes.Equal(read(t, path), data) {
				t.Errorf("%q: %s has changed", tt.args, path)
			}
		}
	}
}

// TestUnknownFeatures: unknown features are ignored, and -V says so.
func TestUnknownFeatures(t *testing.T) {
	for _, args := range []string{"", "-V"} {
		path := copied(t, compile(t, vmlinuxSource, "-c"))
		words := append(strings.Fields(args), "-J", "--btf_features=var,to_come,+float", path)
		code, _, stderr := pahole(words...)
		told := strings.Contains(stderr, "Ignoring unsupported feature 'to_come'\n") &&
			strings.Contains(stderr, "Ignoring unsupported feature '+float'\n")
		if code != 0 || told != (args == "-V") {
			t.Errorf("%q: exit code %d, %q", words, code, stderr)
		}
	}
}
