package inline

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

var (
	programs       = flag.Uint64("programs", 10, "how many random programs to try")
	first          = flag.Uint64("first", 0, "the seed of the first program")
	targetPrograms = flag.Uint64("other", 2, "how many programs to try in other tests")
	keep           = flag.String("keep", "", "a directory that keeps the programs")
)

// build compiles the program of a seed, in a way that the seed also determines.
func build(t *testing.T, seed uint64, dir string) string {
	r := rand.New(rand.NewPCG(seed, 2))
	some := func(all ...string) string { return all[r.IntN(len(all))] }
	source, program := filepath.Join(dir, "program.c"), filepath.Join(dir, "program")
	harness.WriteFile(t, source, Program(seed))
	argv := []string{some("gcc", "clang"), "-o", program, source, "-w", "-fwrapv", "-no-pie",
		"-fno-strict-aliasing", some("-O2", "-O3"), some("-gdwarf-4", "-gdwarf-5")}
	for _, option := range []string{"-fno-omit-frame-pointer", "-ffunction-sections",
		"-fcf-protection=full", "-march=x86-64-v3", "-Wl,--defsym=_stext=__executable_start"} {
		if r.IntN(4) == 0 {
			argv = append(argv, option)
		}
	}
	if argv[0] == "gcc" && r.IntN(4) == 0 {
		argv = append(argv, "-flto")
	}
	t.Log(strings.Join(argv, " "))
	harness.MustRun(t, dir, argv...)
	return program
}

// computer describes a machine to gdb.
type computer struct {
	Registers []string // gdb's names of the registers, by their numbers in DWARF
	Order     string   // of bytes: little or big
	FrameBase int      // the distance of the frame base from the stack pointer of the caller
	emulator  string   // the program that runs programs for the machine; "" for none
	exit      string   // assembly code that ends a program
}

// numbered returns names from first to last, formatted with a number.
func numbered(format string, first, last int) (names []string) {
	for n := first; n <= last; n++ {
		names = append(names, fmt.Sprintf(format, n))
	}
	return names
}

var thisComputer = computer{Order: "little", Registers: slices.Concat(
	strings.Fields("rax rdx rcx rbx rsi rdi rbp rsp"), numbered("r%d", 8, 15), []string{"rip"},
	numbered("xmm%d", 0, 15))}

// others are the computers that are emulated, by the name that clang has for them.
var others = map[string]computer{
	"aarch64": {Order: "little", emulator: "qemu-aarch64", exit: "mov x8, 93; mov x0, 0; svc 0",
		Registers: slices.Concat(numbered("x%d", 0, 30), []string{"sp"}, make([]string, 32),
			numbered("v%d", 0, 31))},
	"riscv64": {Order: "little", emulator: "qemu-riscv64", exit: "li a7, 93; li a0, 0; ecall",
		Registers: slices.Concat(numbered("x%d", 0, 31), numbered("f%d", 0, 31))},
	"s390x": {Order: "big", emulator: "qemu-s390x", exit: "lghi %r2, 0; svc 1", FrameBase: 160,
		Registers: slices.Concat(numbered("r%d", 0, 15), strings.Fields(
			"f0 f2 f4 f6 f1 f3 f5 f7 f8 f10 f12 f14 f9 f11 f13 f15"))},
}

// target is a site, and whether gdb shows another block there, or none: because the site's ranges
// don't contain its address, or those of another site of the function contain it too.
type target struct {
	*Site
	Hidden bool
}

func targets(sites []*Site) (all []target) {
	for _, s := range sites {
		hidden := !s.contains(s.Address)
		for _, other := range sites {
			if other.Function == s.Function && !(other.Address == s.Address && other.contains(s.Address)) {
				hidden = hidden || slices.ContainsFunc(other.Ranges, func(x [2]uint64) bool {
					end := max(x[1], x[0]+1) // as gdb reads a range that is empty
					return x[0] <= s.Address && s.Address < end
				})
			}
		}
		all = append(all, target{s, hidden})
	}
	return all
}

// contains reports whether the site's ranges contain an address.
func (s *Site) contains(address uint64) bool {
	return slices.ContainsFunc(s.Ranges, func(x [2]uint64) bool {
		return x[0] <= address && address < x[1]
	})
}

// visited is a site with what gdb has found there.
type visited struct {
	target
	Visits  int
	Outcome [][]string // for each visit, for each parameter; nil if gdb has no block for the site
	Passed  [][]string // the same for what the program has passed, for some visits
}

// visit lets gdb stop at the sites of a program.
func (c computer) visit(t *testing.T, dir, program string, sites []*Site) (all []visited) {
	f, err := openELF(program)
	must.OK(t, err)
	setup := struct {
		computer
		Sites  []target
		Start  uint64 // for the form "addr"
		Remote string // the socket of the emulator, or ""
	}{computer: c, Sites: targets(sites)}
	setup.Start, _ = f.start()
	if c.emulator != "" {
		setup.Remote = filepath.Join(t.TempDir(), "socket")
		emulator := exec.Command(c.emulator, "-g", setup.Remote, program)
		must.OK(t, emulator.Start())
		defer func() {
			emulator.Process.Kill()
			emulator.Wait()
		}()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			if _, err := os.Stat(setup.Remote); err == nil || time.Now().After(deadline) {
				break
			}
		}
	}
	text, err := json.Marshal(setup)
	must.OK(t, err)
	work, report := filepath.Join(dir, "sites.json"), filepath.Join(dir, "report.json")
	harness.WriteFile(t, work, string(text))
	r, err := harness.Command{Argv: []string{c.gdb(), "-nx", "-q", "-batch",
		"-ex", fmt.Sprintf("python work, report = %q, %q", work, report), "-x",
		filepath.Join(harness.Repo(), "e2e/inline/sites.py"), program},
		Timeout: 2 * time.Minute}.Run()
	must.OK(t, err)
	if text, err = os.ReadFile(report); err != nil {
		t.Fatalf("gdb: %s%s", r.Stdout, r.Stderr)
	}
	must.OK(t, json.Unmarshal(text, &all))
	return all
}

func (c computer) gdb() string {
	if c.emulator != "" {
		return "gdb-multiarch"
	}
	return "gdb"
}

// tally counts results by kind.
type tally map[string]int

// check compares the locations of parameters with what gdb shows.
func (total tally) check(t *testing.T, all []visited) {
	for _, v := range all {
		total["sites"]++
		switch {
		case v.Hidden:
			total["sites that gdb can't show"]++
		case v.Visits == 0:
			total["sites that weren't reached"]++
		}
		for _, outcome := range v.Passed {
			for i, result := range outcome {
				p := v.Params[i]
				form, _, _ := strings.Cut(p.Text, " ")
				if p.Views {
					form += byViews
				}
				switch result {
				case "unknown":
				case "equal":
					total["as passed: "+form]++
				default: // perhaps the compiler is wrong; see enough
					total["not as passed: "+form]++
					t.Logf("%v at 0x%x, line %d: %s", v.Site, v.Address, v.Line, result)
				}
			}
		}
		for _, outcome := range v.Outcome {
			if outcome == nil {
				total["visits without a block"]++
			}
			for i, result := range outcome {
				form, _, _ := strings.Cut(v.Params[i].Text, " ")
				switch result {
				case "equal":
					total["equal: "+form]++
				case "unknown", "no form", "views":
					total[result]++
				default:
					total["different"]++
					t.Errorf("%v at 0x%x: %s", v.Site, v.Address, result)
				}
			}
		}
	}
}

// enough checks that gdb has shown the values of many parameters in a number of programs, and that
// nearly all locations have led to what was passed. gcc 16 is wrong about a few values, such as
// comparisons of numbers with 128 bits.
func (total tally) enough(t *testing.T, programs uint64) {
	sum := func(prefix, suffix string) (n int) {
		for result, count := range total {
			if strings.HasPrefix(result, prefix) && strings.HasSuffix(result, suffix) {
				n += count
			}
		}
		return n
	}
	if equal := sum("equal: ", ""); programs > 1 && equal < 10*int(programs) {
		t.Errorf("only %d values were compared", equal)
	}
	for suffix, limit := range map[string]int{"": 300, byViews: 100} {
		good, bad := sum("as passed: ", suffix), sum("not as passed: ", suffix)
		if programs > 1 && limit*bad > good+bad {
			t.Errorf("%d of %d locations%s have not led to what was passed", bad, good+bad, suffix)
		}
	}
}

// byViews marks results for parameters whose location depends on views.
const byViews = ", by views"

// directory returns a directory for the files of a program.
func directory(t *testing.T, name string) string {
	if *keep == "" {
		return t.TempDir()
	}
	return filepath.Join(*keep, name)
}

// TestPrograms compares the locations of parameters in random programs with what gdb shows.
func TestPrograms(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("SKIPPED: this test knows only the registers of amd64")
	}
	harness.Need(t, "gcc", "clang", "gdb")
	total := tally{}
	for seed := *first; seed < *first+*programs; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			dir := directory(t, fmt.Sprint(seed))
			program := build(t, seed, dir)
			m := newMaker(t, dir)
			sites := m.compare(program, m.btf("program", program))
			total.check(t, thisComputer.visit(t, dir, program, sites))
		})
	}
	t.Log(total)
	total.enough(t, *programs)
}

// TestEmulated is like TestPrograms, for other machines. The programs use no library.
func TestEmulated(t *testing.T) {
	harness.Need(t, "clang", "ld.lld", "gdb-multiarch")
	for target, c := range others {
		for _, compiler := range [][]string{
			{"clang", "--target=" + target + "-linux-gnu", "-fuse-ld=lld"},
			{target + "-linux-gnu-gcc"},
		} {
			t.Run(target+"-"+compiler[0], func(t *testing.T) {
				harness.Need(t, c.emulator, compiler[0])
				total := tally{}
				for seed := *first; seed < *first+*targetPrograms; seed++ {
					dir := directory(t, fmt.Sprintf("%s-%s-%d", target, compiler[0], seed))
					program := c.build(t, seed, dir, compiler)
					m := newMaker(t, dir)
					sites := m.compare(program, m.btf("program", program))
					total.check(t, c.visit(t, dir, program, sites))
				}
				t.Log(total)
				total.enough(t, *targetPrograms)
			})
		}
	}
}

// build compiles the program of a seed.
func (c computer) build(t *testing.T, seed uint64, dir string, compiler []string) string {
	source, program := filepath.Join(dir, "program.c"), filepath.Join(dir, "program")
	harness.WriteFile(t, source, Program(seed)+fmt.Sprintf(`
void *memcpy(void *to, const void *from, ulong n) { for (ulong i = 0; i < n; i++)
	((volatile char *)to)[i] = ((char *)from)[i]; return to; }
void *memset(void *to, int v, ulong n) { for (ulong i = 0; i < n; i++)
	((volatile char *)to)[i] = v; return to; }
void _start(void) { main(); asm volatile(%q); }
`, c.exit))
	harness.MustRun(t, dir, slices.Concat(compiler, []string{"-nostdlib", "-static",
		"-DNARROW", "-w", "-fwrapv", "-fno-strict-aliasing", "-fasynchronous-unwind-tables",
		"-Wl,--no-relax", // _start sets no global pointer
		fmt.Sprintf("-O%d", 2+seed%2), fmt.Sprintf("-gdwarf-%d", 4+seed/2%2),
		"-o", program, source})...)
	return program
}
