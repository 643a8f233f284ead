package main

import (
	"strings"
	"testing"
)

// checkFiles makes files with kernels, and with the needs of three programs: one loads everywhere,
// one tests for a field before it reads the field, and one fails if the field doesn't exist.
func checkFiles(t *testing.T) files {
	f := newFiles(t)
	f.kernel("5.10.btf", little, task("pid", "state"))
	f.kernel("6.1.btf", little, task("pid", "__state"))
	f.kernel("big.btf", big, task("pid"))
	f.write("broken.btf", []byte("\x9f\xeb\x01broken"))
	f.needs("my.needs", little, reader("any", "pid"), guardedReader("careful", "state"),
		reader("old", "state"))
	f.needs("any.needs", little, reader("any", "pid"))
	f.write("exact", []byte("# KERNEL PROGRAM\n\n  6.1 old\n"))
	f.write("none", nil)
	f.write("more", []byte("6.1 old\n5.10 any\n"))
	f.write("other", []byte("6.1 old\n4.19 old\n"))
	f.write("malformed", []byte("6.1 old\n6.1\n"))
	return f
}

const wantText = `loads   5.10  any
loads   5.10  careful
loads   5.10  old
loads   6.1  any
partly  6.1  careful
        missing: byte_off struct task_struct.state: struct task_struct has no field state
        missing: field_exists struct task_struct.state: struct task_struct has no field state
fails   6.1  old
        fatal: byte_off struct task_struct.state: struct task_struct has no field state
6 verdicts: 4 load, 1 load partly, 1 fail
`

const wantJSON = `{
  "rows": [
    {
      "kernel": "6.1",
      "program": "any",
      "section": "socket",
      "verdict": "loads"
    },
    {
      "kernel": "6.1",
      "program": "careful",
      "section": "socket",
      "verdict": "partly",
      "reasons": [
        {
          "fatal": false,
          "wants": "byte_off struct task_struct.state",
          "why": "struct task_struct has no field state"
        },
        {
          "fatal": false,
          "wants": "field_exists struct task_struct.state",
          "why": "struct task_struct has no field state"
        }
      ]
    },
    {
      "kernel": "6.1",
      "program": "old",
      "section": "socket",
      "verdict": "fails",
      "reasons": [
        {
          "fatal": true,
          "wants": "byte_off struct task_struct.state",
          "why": "struct task_struct has no field state"
        }
      ]
    }
  ]
}
`

const wantHTML = `<table>
<tr><th>kernel</th><th>any</th><th>careful</th><th>old</th></tr>
<tr><th>6.1</th><td class="loads">loads</td><td class="partly"><details id="c0-1">` +
	`<summary>partly</summary><ul>` +
	`<li><code>byte_off struct task_struct.state</code>: struct task_struct has no field state</li>` +
	`<li><code>field_exists struct task_struct.state</code>: struct task_struct has no field state` +
	`</li></ul></details></td><td class="fails"><details id="c0-2"><summary>fails</summary><ul>` +
	`<li><b>fatal</b> <code>byte_off struct task_struct.state</code>: struct task_struct has no ` +
	`field state</li></ul></details></td></tr>
</table>
`

// TestCheckFormats compares whole reports.
func TestCheckFormats(t *testing.T) {
	f := checkFiles(t)
	for _, c := range []struct{ args, want string }{
		{"DIR/5.10.btf DIR/6.1.btf", wantText},
		{"-j1 DIR/5.10.btf DIR/6.1.btf", wantText},
		{"--format=json DIR/6.1.btf", wantJSON},
		{"--format=html DIR/6.1.btf", wantHTML},
	} {
		code, stdout, stderr := f.run("check --needs DIR/my.needs " + c.args)
		if i := strings.Index(stdout, "<table>"); i > 0 {
			stdout = strings.Replace(stdout[i:], "</html>\n", "", 1)
		}
		if code != 1 || stderr != "" || stdout != c.want {
			t.Errorf("%s: exit code %d, %s\n%s\nwant\n%s", c.args, code, stderr, stdout, c.want)
		}
	}
}

// TestCheckMarkup checks that names in files are only text in the HTML page, even if they look like
// markup.
func TestCheckMarkup(t *testing.T) {
	f := checkFiles(t)
	f.needs("odd.needs", little, reader("<script>", "<b>&"))
	f.kernel(`"<i>".btf`, little, task("pid"))
	_, stdout, _ := run("check", "--needs", f.path("odd.needs"), "--format=html",
		f.path(`"<i>".btf`))
	for _, name := range []string{"<script>", "<b>&", "<i>"} {
		if strings.Contains(stdout, name) {
			t.Errorf("%s is in the page", name)
		}
	}
	if !strings.Contains(stdout, "&lt;script&gt;") {
		t.Errorf("the program isn't in the page:\n%s", stdout)
	}
}

// TestCheckCodes checks exit codes and messages.
func TestCheckCodes(t *testing.T) {
	f := checkFiles(t)
	const both = " DIR/5.10.btf DIR/6.1.btf"
	for _, c := range []struct {
		args string // after check --needs
		code int
		rows int    // lines with verdicts
		says string // all of standard error
	}{
		{"DIR/any.needs" + both, 0, 2, ""},
		{"DIR/my.needs" + both, 1, 6, ""},
		{"DIR/my.needs DIR/5.10.btf", 0, 3, ""},
		{"DIR/any.needs --needs DIR/my.needs DIR/5.10.btf", 0, 4, ""},

		// With a list of failures, the programs in this list must fail, and no others.
		{"DIR/my.needs --expect DIR/exact" + both, 0, 6, ""},
		{"DIR/any.needs --expect DIR/none" + both, 0, 2, ""},
		{"DIR/my.needs --expect DIR/none" + both, 1, 6,
			"btfcore: 6.1 old fails, which isn't expected\n"},
		{"DIR/my.needs --expect DIR/more" + both, 1, 6,
			"btfcore: 5.10 any is expected to fail, but loads; remove it from the list\n"},
		{"DIR/my.needs --expect DIR/other" + both, 1, 6,
			"btfcore: 4.19 old is expected to fail, but wasn't checked\n"},
		{"DIR/my.needs --expect DIR/malformed" + both, 1, 0,
			"btfcore: DIR/malformed:2: expected a kernel and a program\n"},
		{"DIR/my.needs --expect DIR/missing" + both, 1, 0,
			"btfcore: open DIR/missing: no such file or directory\n"},

		// These kernels can't be read, or can't have a module.
		{"DIR/any.needs DIR/big.btf", 1, 0, "btfcore: DIR/big.btf: its byte order is BigEndian, but " +
			"that of the programs is LittleEndian; leave this kernel out\n"},
		{"DIR/any.needs DIR/big.btf" + both, 1, 2, "btfcore: DIR/big.btf: its byte order is " +
			"BigEndian, but that of the programs is LittleEndian; leave this kernel out\n" +
			"btfcore: 1 of 3 kernels failed; the others are done\n"},
		{"DIR/any.needs --module DIR/5.10.btf" + both, 2, 0,
			"btfcore: --module is for one kernel, not 2 (see btfcore check --help)\n"},
	} {
		code, stdout, stderr := f.run("check --needs " + c.args)
		rows := strings.Count(stdout, "\nloads") + strings.Count(stdout, "\npartly") +
			strings.Count(stdout, "\nfails")
		if strings.HasPrefix(stdout, "loads") {
			rows++
		}
		if code != c.code || rows != c.rows || stderr != c.says || rows == 0 && stdout != "" {
			t.Errorf("%s: exit code %d, want %d, %d rows, want %d\n%s%swant\n%s", c.args, code, c.code,
				rows, c.rows, stdout, stderr, c.says)
		}
	}
}

// TestCheckMinimal checks that the verdicts on minimal BTF are the same as on the whole BTF.
func TestCheckMinimal(t *testing.T) {
	f := checkFiles(t)
	code, _, stderr := f.run("min --needs DIR/my.needs -d DIR/min DIR/5.10.btf DIR/6.1.btf")
	if code != 0 {
		t.Fatal(stderr)
	}
	code, stdout, _ := f.run("check --needs DIR/my.needs DIR/min")
	want := "6 verdicts: 4 load, 1 load partly, 1 fail\n"
	if code != 1 || !strings.HasSuffix(stdout, want) {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
}

// TestCheckVerbose checks that -v doesn't change the table.
func TestCheckVerbose(t *testing.T) {
	f := checkFiles(t)
	code, stdout, stderr := f.run("check --needs DIR/my.needs -v DIR/5.10.btf DIR/6.1.btf")
	if code != 1 || stdout != wantText || !strings.Contains(stderr, "check: ") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// TestDiff checks that diff writes a line for each thing that is in only one of the two files.
func TestDiff(t *testing.T) {
	f := checkFiles(t)
	f.needs("one.needs", little, reader("any", "pid", "state"))
	for _, c := range []struct {
		args   string
		code   int
		stdout string
	}{
		{"DIR/my.needs DIR/my.needs", 0, ""},
		{"--format=json DIR/my.needs DIR/my.needs", 0, "[]\n"},
		{"DIR/any.needs DIR/my.needs", 1, `+ careful: byte_off struct task_struct.state, ` +
			`if field_exists(struct task_struct.state)
+ careful: field_exists struct task_struct.state
+ old: byte_off struct task_struct.state
`},
		{"--format=json DIR/any.needs DIR/one.needs", 1, `[
  {
    "added": true,
    "program": "any",
    "ask": {
      "kind": "byte_off",
      "what": "struct task_struct.state"
    }
  }
]
`},
	} {
		code, stdout, stderr := f.run("diff " + c.args)
		if code != c.code || stdout != c.stdout || stderr != "" {
			t.Errorf("%s: exit code %d, want %d\n%s%s", c.args, code, c.code, stdout, stderr)
		}
	}
	if code, _, stderr := f.run("diff DIR/my.needs DIR/broken.btf"); code != 1 ||
		!strings.HasPrefix(stderr, "btfcore: DIR/broken.btf: not an ELF file: ") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}
