package main

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// minFiles makes a directory with kernels, files that can't be read, modules, and needs.
func minFiles(t *testing.T) files {
	f := newFiles(t)
	a := f.kernel("a.btf", little, task("pid", "mm", "unused"))
	f.kernel("b.btf", little, task("unused", "mm"))
	f.kernel("k/6.1/x86.btf", little, task("mm"))
	f.kernel("k/6.2/x86.btf", little, task("mm"))
	f.kernel("k/6.2/s390.btf", little, task("unused", "pid", "mm"))
	f.kernel("other/a.btf", little, task("mm"))
	f.kernel("odd=name.btf", little, task("mm"))
	f.kernel("big.btf", big, task("mm"))
	f.write("broken.btf", []byte("\x9f\xeb\x01broken"))
	f.write("empty.btf", nil)
	f.write("text", []byte("no kernel"))
	f.write("none/README", []byte("no kernels below"))
	f.tar("two.tar", "./x.btf", string(a), "sub/y.btf", string(a))
	f.tar("two.btf.tar", "x.btf", string(a), "y.btf", string(a))
	f.xz("same/two.btf.tar.xz", "two.btf.tar")
	f.write("same/two/x.btf", a)
	f.tar("escape.tar", "../x.btf", string(a), "y.btf", string(a))
	f.tar("root.tar", "/x.btf", string(a), "y.btf", string(a))
	f.tar("twice.tar", "x.btf", string(a), "./x.btf", string(a))
	f.tar("one.tar", "../x.btf", string(a))
	f.module("m/net.btf", a, func(b *btf.Builder) { composite(b, "netdev", "ifindex", "unused") })
	f.module("m/idle.btf", a, func(b *btf.Builder) { composite(b, "idle", "unused") })
	f.write("m/net.inline.btf", []byte("sites, which are not read"))
	f.needs("my.needs", little, reader("reader", "mm"))
	f.needs("net.needs", little, reader("reader", "mm"),
		asker{name: "net", of: "netdev", fields: []string{"ifindex"}})
	f.needs("big.needs", big, reader("reader", "mm"))
	return f
}

// TestMin checks the files, the message and the exit code of each command line.
func TestMin(t *testing.T) {
	f := minFiles(t)
	for _, c := range []struct {
		args  string // after "min --needs DIR/my.needs"; another --needs adds needs
		code  int
		files string // written below the directory new
		says  string // a part of the last line
	}{
		{"-d DIR/new DIR/a.btf", 0, "a.btf", "minimal BTF of 1 file in DIR/new"},
		{"-q -d DIR/new DIR/a.btf DIR/b.btf", 0, "a.btf b.btf", ""},
		{"-q -d DIR/new DIR/k", 0, "6.1/x86.btf 6.2/s390.btf 6.2/x86.btf", ""},
		{"-q -d DIR/new DIR/two.tar DIR/b.btf", 0, "b.btf two/sub/y.btf two/x.btf", ""},
		{"-q -d DIR/new DIR/one.tar", 0, "one.btf", ""},

		// If there is an error for one kernel, the BTF of the other kernels is still written.
		{"-d DIR/new DIR/a.btf DIR/broken.btf DIR/b.btf", 1, "a.btf b.btf",
			"1 of 3 kernels failed; the others are done"},
		{"-d DIR/new DIR/broken.btf", 1, "", "DIR/broken.btf: "},
		{"-d DIR/new DIR/broken.btf DIR/text", 1, "", "all 2 kernels failed"},
		{"-d DIR/new DIR/empty.btf", 1, "", "DIR/empty.btf: "},
		{"-d DIR/new DIR/a.btf DIR/missing.btf", 1, "", "DIR/missing.btf: no such file"},
		{"-d DIR/new DIR/none", 1, "", "DIR/none: no *.btf or *.btf.tar.xz files below it"},

		{"-d DIR/new DIR/a.btf DIR/other/a.btf", 1, "", "DIR/a.btf and DIR/other/a.btf: both would " +
			"be called a; pass a directory above both, or NAME=FILE"},

		// The names of kernels come from command lines and archives.
		{"-q -d DIR/new b=DIR/a.btf x/a=DIR/other/a.btf", 0, "b.btf x/a.btf", ""},
		{"-q -d DIR/new x=DIR/k z=DIR/two.tar", 0, "x/6.1/x86.btf x/6.2/s390.btf x/6.2/x86.btf " +
			"z/sub/y.btf z/x.btf", ""},
		{"-q -d DIR/new DIR/odd=name.btf", 0, "odd=name.btf", ""},
		{"-d DIR/new ../x=DIR/a.btf", 1, "", "../x=DIR/a.btf: no such file"},
		{"-d DIR/new x=", 1, "", "x=: no such file"},
		{"-d DIR/new b=DIR/a.btf DIR/b.btf", 1, "", "both would be called b"},
		{"-d DIR/new DIR/escape.tar", 1, "", "DIR/escape.tar: ../x.btf: the path points outside the " +
			"archive"},
		{"-d DIR/new DIR/root.tar", 1, "", "DIR/root.tar: /x.btf: the path points outside the archive"},
		{"-d DIR/new DIR/twice.tar", 1, "", "another kernel has the same name, twice/x"},
		{"-d DIR/new DIR/same", 1, "two/x.btf", "1 of 2 kernels failed; the others are done"},

		{"-d DIR/new DIR/big.btf", 1, "", "DIR/big.btf: its byte order is BigEndian, but that of " +
			"the programs is LittleEndian"},
		{"--needs DIR/big.needs -d DIR/new DIR/a.btf", 1, "", "DIR/big.needs: its byte order differs " +
			"from that of DIR/my.needs"},
		{"--needs DIR/a.btf -d DIR/new DIR/a.btf", 1, "", `DIR/a.btf: not a file from "btfcore needs"`},

		{"-d DIR/new -o DIR/new.btf DIR/a.btf", 2, "", "either -o (one kernel, or a tar"},
		{"DIR/a.btf", 2, "", "either -o (one kernel, or a tar"},
		{"-o DIR/new/x DIR/a.btf DIR/b.btf", 2, "", "-o and --module are for one kernel, not 2"},
		{"-o DIR/new/x DIR/two.tar", 1, "", "DIR/two.tar: it has 2 kernels; use -d"},
		{"-o DIR/new/x --module DIR/m DIR/a.btf", 2, "", "requires -d for the BTF of each module, or"},
		{"-d DIR/new --module DIR/m DIR/a.btf DIR/b.btf", 2, "", "are for one kernel, not 2"},

		// A module gets a file only if a program needs some of the module's types.
		{"--needs DIR/net.needs -d DIR/new --module DIR/m DIR/a.btf", 0, "net.btf vmlinux.btf", ""},
		{"-d DIR/new --module DIR/m DIR/a.btf", 0, "vmlinux.btf", ""},
		{"--needs DIR/net.needs -d DIR/new --flat --module DIR/m DIR/a.btf", 0, "vmlinux.btf", ""},
		{"-d DIR/new --module DIR/m --module DIR/m/net.btf DIR/a.btf", 1, "",
			"DIR/m/net.btf and DIR/m/net.btf: both would be called net; pass NAME=FILE"},
		{"--needs DIR/net.needs -d DIR/new --module kernel/nf-x.ko=DIR/m/net.btf DIR/a.btf", 0,
			"nf_x.btf vmlinux.btf", ""},
		{"-d DIR/new --module vmlinux=DIR/m/net.btf DIR/a.btf", 1, "",
			"a and DIR/m/net.btf: both would be called vmlinux"},
		{"-d DIR/new --module x=DIR/m DIR/a.btf", 1, "",
			"DIR/m: it is a directory, not the file of a module called x"},
		{"-d DIR/new --module DIR/none DIR/a.btf", 1, "", "DIR/none: no modules ("},
		{"-d DIR/new --module DIR/m DIR/b.btf", 1, "", "is b the kernel of this module?"},
	} {
		code, stdout, stderr := f.run("min --needs DIR/my.needs " + c.args)
		lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
		last := lines[len(lines)-1]
		if code != c.code || stdout != "" || !strings.Contains(last, c.says) ||
			(c.says == "") != (stderr == "") {
			t.Errorf("%s: exit code %d, want %d\n%s%swant %s", c.args, code, c.code, stdout, stderr,
				c.says)
		}
		var got []string
		if _, err := os.Stat(f.path("new")); err == nil {
			got = names(f.tree("new"))
			if got == nil {
				t.Errorf("%s: it left an empty directory", c.args)
			}
			os.RemoveAll(f.path("new"))
		}
		if !slices.Equal(got, strings.Fields(c.files)) {
			t.Errorf("%s: wrote %q, want %s", c.args, got, c.files)
		}
	}
}

// TestMinBroken checks that if one of many kernels is broken, one line names this kernel, and the
// BTF of the others is the same as without the broken one, whatever the number of threads.
func TestMinBroken(t *testing.T) {
	f := minFiles(t)
	f.write("k/6.1/broken.btf", []byte("\x9f\xeb\x01broken"))
	var trees []map[string]string
	for _, jobs := range []string{"-j1", "-j2"} {
		code, _, stderr := f.run("min --needs DIR/my.needs -d DIR/out" + jobs + " " + jobs + " DIR/k")
		lines := strings.Split(stderr, "\n")
		if code != 1 || len(lines) != 3 ||
			!strings.HasPrefix(lines[0], "btfcore: DIR/k/6.1/broken.btf: ") ||
			lines[1] != "btfcore: 1 of 4 kernels failed; the others are done" {
			t.Errorf("%s: exit code %d\n%s", jobs, code, stderr)
		}
		trees = append(trees, f.tree("out"+jobs))
	}
	if len(trees[0]) != 3 || !maps.Equal(trees[0], trees[1]) {
		t.Errorf("-j1 wrote %q; -j2 wrote different bytes, or different files: %q", names(trees[0]),
			names(trees[1]))
	}
	if trees[0]["6.1/x86.btf"] != trees[0]["6.2/x86.btf"] {
		t.Error("the minimal BTF of two kernels differs, although the needed parts are the same")
	}
	code, _, stderr := f.run("min --needs DIR/my.needs -o DIR/alone DIR/k/6.2/s390.btf")
	if code != 0 {
		t.Error(stderr)
	}
	if f.tree(".")["alone"] != trees[0]["6.2/s390.btf"] {
		t.Error("the minimal BTF of a kernel is different if it is the only kernel")
	}
}

// TestNeedsOfNeeds checks that needs can't be made from a file with needs, but that such a file can
// be printed.
func TestNeedsOfNeeds(t *testing.T) {
	f := minFiles(t)
	code, stdout, stderr := f.run("needs -o - DIR/my.needs")
	if want := "btfcore: DIR/my.needs: a file written by \"btfcore needs\", expected an object " +
		"file with programs; name the object file with the programs (clang -target bpf -g -O2 -c)\n"; code != 1 || stdout != "" || stderr != want {
		t.Errorf("exit code %d, %s%swant %s", code, stdout, stderr, want)
	}
	for format, want := range map[string]string{"text": "reader (socket)\n  byte_off struct " +
		"task_struct.mm\n", "json": `{
  "programs": [
    {
      "name": "reader",
      "section": "socket",
      "object": 0,
      "asks": [
        {
          "kind": "byte_off",
          "what": "struct task_struct.mm"
        }
      ]
    }
  ]
}
`} {
		code, stdout, stderr := f.run("needs --format=" + format + " DIR/my.needs")
		if code != 0 || stdout != want || stderr != "" {
			t.Errorf("%s: exit code %d, %s%s", format, code, stdout, stderr)
		}
	}
}

// TestMinMembers checks that unused members are left out, and that other members keep their
// offsets.
func TestMinMembers(t *testing.T) {
	f := minFiles(t)
	code, stdout, stderr := f.run("min --needs DIR/my.needs -o - DIR/a.btf")
	if code != 0 || stderr != "" {
		t.Fatal(code, stderr)
	}
	b := must.Get(btf.Parse([]byte(stdout), nil))(t)
	var got []string
	for i := range b.Types {
		s := &b.Types[i]
		if s.Kind != btf.KindStruct {
			continue
		}
		for _, m := range b.MembersOf(s) {
			name, _ := b.Name(m.NameOff)
			if got = append(got, name); m.Offset != 32 || s.SizeOrType != 12 {
				t.Errorf("%s is at bit %d of a struct of %d bytes, want bit 32 of 12 bytes", name, m.Offset,
					s.SizeOrType)
			}
		}
	}
	if !slices.Equal(got, []string{"mm"}) {
		t.Errorf("members %q, want only mm", got)
	}
}

// TestStdinIsTheFile checks that standard input, as the kernel or as the needs, gives the same
// result as a file.
func TestStdinIsTheFile(t *testing.T) {
	f := minFiles(t)
	for _, c := range []struct{ args, stdin string }{
		{"min -o - --needs DIR/my.needs FILE", "a.btf"},
		{"min -o - --needs FILE DIR/a.btf", "my.needs"},
		{"min -o - --needs DIR/my.needs FILE", "one.tar"},
		{"check --needs FILE DIR/a.btf", "my.needs"},
		{"needs --format=text FILE", "my.needs"},
		{"diff FILE DIR/my.needs", "my.needs"},
	} {
		code, want, stderr := f.run(strings.ReplaceAll(c.args, "FILE", "DIR/"+c.stdin))
		if code != 0 {
			t.Errorf("%s: exit code %d, %s", c.args, code, stderr)
		}
		in := must.Get(os.Open(f.path(c.stdin)))(t)
		var out, errs bytes.Buffer
		args := strings.NewReplacer("DIR", f.dir, "FILE", "-").Replace(c.args)
		code = cli.Execute(program, strings.Fields(args), in, &out, &errs)
		in.Close()
		if code != 0 || out.String() != want {
			t.Errorf("%s: exit code %d, %s%d bytes, want %d", c.args, code, &errs, out.Len(), len(want))
		}
	}
}
