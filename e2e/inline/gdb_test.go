package inline

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
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

// registerNames has gdb's names of the registers, by their numbers in DWARF.
func registerNames() []string {
	names := strings.Fields("rax rdx rcx rbx rsi rdi rbp rsp")
	for n := 8; n < 16; n++ {
		names = append(names, fmt.Sprintf("r%d", n))
	}
	names = append(names, "rip")
	for n := range 16 {
		names = append(names, fmt.Sprintf("xmm%d", n))
	}
	return names
}

// visited is a site with what gdb has found there.
type visited struct {
	*Site
	Visits  int
	Outcome [][]string // for each visit, for each parameter; nil if gdb has no block for the site
}

// visit lets gdb stop at the sites of a program.
func visit(t *testing.T, dir, program string, sites []*Site) (all []visited) {
	work, report := filepath.Join(dir, "sites.json"), filepath.Join(dir, "report.json")
	text, err := json.Marshal(sites)
	if err != nil {
		t.Fatal(err)
	}
	harness.WriteFile(t, work, string(text))
	names, err := json.Marshal(registerNames())
	if err != nil {
		t.Fatal(err)
	}
	f, err := openELF(program)
	if err != nil {
		t.Fatal(err)
	}
	start, _ := f.start()
	variables := fmt.Sprintf("python work, report, register_names, start = %q, %q, %q, %d", work,
		report, names, start)
	r, err := harness.Command{Argv: []string{"gdb", "-nx", "-q", "-batch", "-ex", variables, "-x",
		filepath.Join(harness.Repo(), "e2e/inline/sites.py"), program},
		Timeout: 2 * time.Minute}.Run()
	if err != nil {
		t.Fatal(err)
	}
	if text, err = os.ReadFile(report); err != nil {
		t.Fatalf("gdb: %s%s", r.Stdout, r.Stderr)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestPrograms compares the locations of parameters in random programs with what gdb shows.
func TestPrograms(t *testing.T) {
	harness.Need(t, "gcc", "clang", "gdb")
	btfgen := harness.Tool(t, "btfgen")
	total := map[string]int{}
	for seed := *first; seed < *first+*programs; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			dir := *keep
			if dir == "" {
				dir = t.TempDir()
			} else {
				dir = filepath.Join(dir, fmt.Sprint(seed))
			}
			program := build(t, seed, dir)
			m := maker{t, dir, btfgen}
			sites := m.compare(program, m.btf("program", program))
			for _, v := range visit(t, dir, program, sites) {
				total["sites"]++
				switch {
				case v.Outside:
					total["sites outside of their ranges"]++
				case v.Visits == 0:
					total["sites that weren't reached"]++
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
						case "unknown":
							total[result]++
						case "no form":
							total["no form: "+v.Params[i].Cause]++
						default:
							total["different"]++
							t.Errorf("%v at 0x%x: %s", v.Site, v.Address, result)
						}
					}
				}
			}
		})
	}
	t.Log(total)
}
