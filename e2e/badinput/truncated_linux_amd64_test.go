package badinput

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// page is the size of a page. After a file is truncated, a mapping of the file can still be read up
// to the end of the page that contains the file's new end.
const page = 4096

// cut says which file to truncate right after it has been mapped, and to which size.
type cut struct {
	path string
	size int64
}

// start runs a program under ptrace, and truncates the file when the program's first mmap of this
// file returns. The function wait waits for the program's end. It returns the exit code, and
// whether the file was mapped. Until wait returns, no other program may be traced.
func (c *cut) start(t *testing.T, dir string, argv []string, files []*os.File) (wait func() (int,
	bool)) {
	t.Helper()
	type end struct {
		code int
		hit  bool
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		runtime.LockOSThread() // the thread is the tracer
		defer runtime.UnlockOSThread()
		p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Dir: dir, Files: files,
			Sys: &syscall.SysProcAttr{Ptrace: true}})
		if err != nil {
			ended <- end{err: err}
			return
		}
		var e end
		e.code, e.hit, e.err = c.trace(p.Pid)
		ended <- e
	}()
	return func() (int, bool) {
		e := <-ended
		if e.err != nil {
			t.Fatal(e.err)
		}
		return e.code, e.hit
	}
}

// trace traces a process from its stop after exec to its exit.
func (c *cut) trace(pid int) (code int, hit bool, err error) {
	const syscallStop = syscall.SIGTRAP | 0x80
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, syscall.WALL, nil); err != nil {
		return 0, false, err
	}
	const options = syscall.PTRACE_O_TRACESYSGOOD | syscall.PTRACE_O_TRACECLONE
	if err := syscall.PtraceSetOptions(pid, options); err != nil {
		return 0, false, err
	}
	for tid := pid; ; {
		deliver := 0
		switch sig := status.StopSignal(); {
		case !status.Stopped():
		case sig == syscallStop:
			if !hit && c.mapped(pid, tid) {
				hit = true
				if err := os.Truncate(c.path, c.size); err != nil {
					return 0, hit, err
				}
			}
		case sig != syscall.SIGTRAP && sig != syscall.SIGSTOP: // these two come from tracing itself
			deliver = int(sig)
		}
		if status.Stopped() {
			next := syscall.PtraceSyscall
			if hit {
				next = syscall.PtraceCont
			}
			if err := next(tid, deliver); err != nil && err != syscall.ESRCH {
				return 0, hit, err
			}
		}
		if tid, err = syscall.Wait4(-1, &status, syscall.WALL, nil); err != nil {
			return 0, hit, err
		}
		if tid == pid && status.Exited() {
			return status.ExitStatus(), hit, nil
		}
		if tid == pid && status.Signaled() {
			return -1, hit, nil
		}
	}
}

// mapped reports whether the thread has just returned from an mmap of the file.
func (c *cut) mapped(pid, tid int) bool {
	var regs syscall.PtraceRegs
	if syscall.PtraceGetRegs(tid, &regs) != nil || regs.Orig_rax != syscall.SYS_MMAP ||
		int64(regs.Rax) < 0 { // Rax is -ENOSYS when the call is entered
		return false
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, int32(regs.R8)))
	return err == nil && path == c.path
}

// headersFirst copies a file's section headers and section names to the start of the file, where
// they survive the truncation.
func headersFirst(t *testing.T, data []byte) []byte {
	t.Helper()
	f := must.Get(elf.NewFile(bytes.NewReader(data)))(t)
	le := binary.LittleEndian
	shoff, count := le.Uint64(data[40:]), int(le.Uint16(data[60:]))
	names := f.Sections[le.Uint16(data[62:])]
	table := bytes.Clone(data[shoff : shoff+uint64(64*count)])
	strings := data[names.Offset : names.Offset+names.Size]
	shift := uint64(64+len(table)+len(strings)+page-1) / page * page
	for i := range count {
		h := table[64*i:]
		le.PutUint64(h[24:], le.Uint64(h[24:])+shift)
		if i == int(le.Uint16(data[62:])) {
			le.PutUint64(h[24:], 64+uint64(len(table)))
		}
	}
	out := slices.Concat(data[:64], table, strings)
	le.PutUint64(out[40:], 64)
	if phoff := le.Uint64(data[32:]); phoff != 0 {
		le.PutUint64(out[32:], phoff+shift)
	}
	return append(append(out, make([]byte, int(shift)-len(out))...), data...)
}

// cuts returns the sizes to which a file is truncated: 0, 100, one page, and for each section its
// exact start, its middle, and its start rounded down to a page. If a file ends within a page, the
// rest of that page reads as zeros.
func cuts(t *testing.T, data []byte) []int64 {
	t.Helper()
	list := []int64{0, 100, page}
	if f, err := elf.NewFile(bytes.NewReader(data)); err == nil {
		for _, s := range f.Sections {
			if s.Type != elf.SHT_NOBITS && s.Size > 0 {
				list = append(list, int64(s.Offset)/page*page, int64(s.Offset), int64(s.Offset+s.Size/2))
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// truncatedLine matches the message of a program whose input was truncated. The second form is for
// a program that opens the file again after the truncation.
var truncatedLine = regexp.MustCompile(`^\S+: \S+: (truncated while it was read; try again when the ` +
	`step that writes it is done|truncated: section \d+ .*)\n$`)

// TestTruncated truncates an input right after it has been mapped, in each run to a different size.
// The run must either print a one-line error message or give the same result as with the whole file
// (which is possible if the command doesn't need the missing bytes). The first command that reads a
// file is run with all sizes; each further command that reads this file, with every fourth size.
func TestTruncated(t *testing.T) {
	harness.Need(t, "gcc", "ar", "objcopy", "llvm-dwp")
	dir := t.TempDir()
	t.Chdir(dir)
	var source strings.Builder
	source.WriteString(sample)
	for i := range 300 {
		fmt.Fprintf(&source, "struct s%d { int the_first_member_%d; struct s%d *next_%d; };\n"+
			"int function_%d(struct s%d *argument_%d) { return argument_%d->the_first_member_%d; }\n"+
			"__attribute__((section(\".data..percpu\"))) struct s%d variable_%d = {1};\n",
			i, i, i, i, i, i, i, i, i, i, i)
	}
	harness.WriteFile(t, "sample.c", source.String())
	sh := func(script string) { harness.MustRun(t, dir, "sh", "-ec", script) }
	sh(`gcc -c -g -O2 sample.c -o object.o
		gcc -c -g -O2 -gz sample.c -o packed.o
		gcc -g -O2 -static -nostdlib -Wl,-e,main,--build-id sample.c -o linked
		gcc -c -g -O2 -gsplit-dwarf sample.c -o skeleton.o
		llvm-dwp skeleton.dwo -o split.dwp
		rm skeleton.dwo
		objcopy --only-keep-debug linked debug
		objcopy -S linked stripped
		ar cr archive.a object.o packed.o
		mkdir -p tree/init
		gcc -g -c sample.c -o tree/init/main.o
		(cd tree; ar cDPrST vmlinux.a init/main.o; gcc -g -r -nostdlib -o vmlinux init/main.o)`)
	tools := map[string]string{}
	for _, name := range []string{"btfgen", "btfdedup", "btfkbuild", "pahole"} {
		tools[name] = harness.Tool(t, name)
	}
	command := func(line string) []string {
		argv := strings.Fields(line)
		argv[0] = tools[argv[0]]
		return argv
	}
	must := func(line string) { harness.MustRun(t, dir, command(line)...) }
	must("btfgen object -o a.btfo object.o")
	must("btfgen elf -o base.btf linked")
	must("btfdedup link -o split.btf --base base.btf --distilled-base distilled.btf a.btfo")
	must("btfdedup index -o base.index base.btf")
	must("btfdedup embed -o with.o --btf base.btf object.o")
	must("btfdedup embed -o module.ko --btf split.btf --btf-base distilled.btf object.o")
	must("btfdedup link -o other.btf --base base.btf a.btfo")
	must("btfdedup embed -o split.ko --btf other.btf object.o")
	must("btfdedup embed -o vmlinux --object --btf base.btf linked")
	for _, name := range []string{"object.o", "packed.o", "linked", "skeleton.o", "split.dwp", "debug",
		"with.o", "module.ko", "split.ko", "vmlinux", "tree/vmlinux", "tree/init/main.o"} {
		data := headersFirst(t, harness.ReadFile(t, name))
		harness.WriteFile(t, name, string(data))
	}
	large := slices.Concat(harness.ReadFile(t, "object.o"), make([]byte, 17<<20))
	harness.WriteFile(t, "large.o", string(large))

	readers := map[string]int{} // how many commands have read each file so far
	for _, c := range []struct {
		line string
		file string // the file to truncate
	}{
		{line: "btfgen elf -j1 -o OUT linked", file: "linked"},
		{line: "btfgen elf -j4 -o OUT linked", file: "linked"},
		{line: "btfgen elf -j2 -o OUT --base base.index object.o", file: "base.index"},
		{line: "btfgen elf -o OUT --debug-file debug stripped", file: "debug"},
		{line: "btfgen elf -o OUT --debug-file split.dwp skeleton.o", file: "split.dwp"},
		{line: "btfgen object -j1 -o OUT object.o", file: "object.o"},
		{line: "btfgen object -j4 -o OUT object.o packed.o", file: "packed.o"},
		{line: "btfgen object -o OUT packed.o", file: "packed.o"},
		{line: "btfgen object -o OUT large.o", file: "large.o"},
		{line: "btfgen object -j2 -o OUT archive.a", file: "archive.a"},
		{line: "btfgen object -j2 -o OUT with.o", file: "with.o"},
		{line: "btfgen facts -o OUT linked", file: "linked"},
		{line: "btfdedup merge -j2 -o OUT a.btfo with.o", file: "with.o"},
		{line: "btfdedup link -o OUT --base base.index a.btfo", file: "base.index"},
		{line: "btfdedup link -o OUT with.o", file: "with.o"},
		{line: "btfgen modules -q -j1 -o OUT --base base.btf object.o packed.o", file: "packed.o"},
		{line: "btfgen modules -q -j4 -o OUT --base base.index object.o packed.o", file: "object.o"},
		{line: "btfgen modules -q -j4 -o OUT linked object.o", file: "linked"},
		{line: "btfdedup index -o OUT with.o", file: "with.o"},
		{line: "btfdedup import -o OUT with.o", file: "with.o"},
		{line: "btfdedup embed -q -o OUT --btf base.btf object.o", file: "object.o"},
		{line: "btfdedup resolve-ids -o OUT --btf base.btf object.o", file: "object.o"},
		{line: "btfdedup relocate -o OUT --base base.btf module.ko", file: "module.ko"},
		{line: "btfdedup verify with.o", file: "with.o"},
		{line: "btfdedup diff with.o base.btf", file: "with.o"},
		{line: "btfdedup conflicts -j4 a.btfo with.o", file: "with.o"},
		{line: "btfdedup archive -q -o OUT --release 1 --vmlinux with.o", file: "with.o"},
		{line: "btfdedup stats --base base.btf split.ko", file: "split.ko"},
		{line: "btfdedup dump with.o", file: "with.o"},
		{line: "btfdedup dump --format=c with.o", file: "with.o"},
		{line: "btfdedup stats with.o", file: "with.o"},
		{line: "btfdedup import -o OUT with.o", file: "with.o"},
		{line: "pahole -J -j4 --btf_encode_detached=OUT linked", file: "linked"},
		{line: "btfkbuild --out OUT tree", file: "tree/vmlinux"},
		{line: "btfkbuild --out OUT tree", file: "tree/init/main.o"},
	} {
		t.Run(c.line+" ("+c.file+")", func(t *testing.T) {
			path := filepath.Join(dir, c.file)
			data := harness.ReadFile(t, path)
			defer harness.WriteFile(t, path, string(data))
			out := filepath.Join(t.TempDir(), "out")
			argv := command(strings.ReplaceAll(c.line, "OUT", out))
			run := func(k cut) (code int, hit bool, result, stderr string) {
				harness.WriteFile(t, path, string(data))
				os.RemoveAll(out)
				stdoutFile, stderrFile := temporary(t), temporary(t)
				code, hit = k.start(t, dir, argv, []*os.File{nil, stdoutFile, stderrFile})()
				return code, hit, content(t, stdoutFile) + contents(t, out), content(t, stderrFile)
			}
			code, _, whole, said := run(cut{path: "/none"})
			if code != 0 {
				t.Fatalf("with the whole file: exit %d, %s", code, said)
			}
			refused := 0
			reader := readers[c.file]
			readers[c.file]++
			for i, size := range cuts(t, data) {
				if reader > 0 && i%4 != reader%4 {
					continue
				}
				got, hit, result, stderr := run(cut{path, size})
				switch {
				case !hit:
					t.Fatalf("%s was not mapped", c.file)
				case truncatedLine.MatchString(stderr) && strings.Contains(stderr, c.file+": "):
					if refused++; got != 1 || exists(out) && !strings.Contains(c.line, "btfgen modules") {
						t.Errorf("%d bytes: exit %d, output %q", size, got, head(result))
					}
				case got != code || stderr != said || result != whole:
					t.Errorf("%d bytes: exit %d, %s", size, got, head(stderr))
				}
			}
			if refused == 0 {
				t.Error("no truncation was noticed")
			}
		})
	}
}

func temporary(t *testing.T) *os.File {
	t.Helper()
	f := must.Get(os.Create(filepath.Join(t.TempDir(), "f")))(t)
	t.Cleanup(func() { f.Close() })
	return f
}

func content(t *testing.T, f *os.File) string {
	t.Helper()
	return string(harness.ReadFile(t, f.Name()))
}

// contents returns the content of a file, or the joined contents of all files below a directory. If
// the path doesn't exist, contents returns "".
func contents(t *testing.T, path string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(path, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			all.Write(harness.ReadFile(t, path))
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return all.String()
}
