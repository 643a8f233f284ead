// Package boot checks the BTF of inlined functions in a running kernel: BPF programs at the sites
// of a module read the parameters as the BTF says, and must find what the module has passed.
package boot

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/boot/wire"
	"github.com/rules-btf/rules_btf/e2e/inline"
	"github.com/rules-btf/rules_btf/e2e/inline/boot/protocol"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/e2e/internal/machine"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func TestMain(m *testing.M) { harness.Main(m) }

// numbers are written to the module's parameter "run".
var numbers = []int64{1, 6, 123456789, -3}

// TestBoot needs the script run, which sets the environment variables.
func TestBoot(t *testing.T) {
	module, vmlinux := os.Getenv("SITES_MODULE"), os.Getenv("SITES_VMLINUX")
	if module == "" {
		t.Skip("SKIPPED: no kernel to boot; run e2e/inline/boot/run")
	}
	btfgen, dir := harness.Tool(t, "btfgen"), t.TempDir()
	image := filepath.Join(dir, "image")
	base, types, sites := filepath.Join(dir, "vmlinux.btf"), filepath.Join(dir, "sites.btf"),
		filepath.Join(dir, "sites.inline.btf")
	harness.MustRun(t, "", btfgen, "elf", "-o", base, vmlinux)
	harness.MustRun(t, "", btfgen, "elf", "--base", base, "-o", types, module)
	harness.MustRun(t, "", btfgen, "inline", "--base", base, "--base", types, "-o", sites, module)
	all := must.Get(inline.BTFSites(base, types, sites))(t)
	chosen, plan := choose(t, module, all)
	write := func(file string, content any) {
		text := must.Get(json.Marshal(content))(t)
		harness.WriteFile(t, filepath.Join(image, file), string(text))
	}
	write(protocol.SitesFile, plan)
	harness.WriteFile(t, filepath.Join(image, "sites.ko"), string(harness.ReadFile(t, module)))
	harness.Command{
		Argv: []string{"go", "build", "-o", filepath.Join(image, "probe"),
			"github.com/rules-btf/rules_btf/e2e/inline/boot/probe"},
		Env: []string{"CGO_ENABLED=0"},
	}.Must(t)
	harness.WriteFile(t, filepath.Join(image, protocol.EventsFile),
		events(t, base, types, sites, module))
	m := machine.X86(os.Getenv("SITES_QEMU"))
	m.Kernel = os.Getenv("SITES_KERNEL")
	write(wire.PlanFile, wire.Plan{Report: m.Report,
		Modules: []wire.Load{{Name: "sites", File: "/sites.ko"}},
		Commands: []wire.Command{{Argv: []string{"/probe"}},
			{Argv: []string{"/probe", "events", fmt.Sprint(traced)}}}})
	lines := m.Boot(t, dir, image)
	checks := []func(*testing.T, []*inline.Site, string){check, checkTrace}
	for _, l := range lines {
		switch {
		case l.Module != nil && l.Module.Error != "":
			t.Fatal(l.Module.Error)
		case l.Ran != nil && l.Ran.Error != "":
			t.Fatal(l.Ran.Error, l.Ran.Output)
		case l.Ran != nil:
			checks[0](t, chosen, l.Ran.Output)
			checks = checks[1:]
		}
	}
	if len(checks) > 0 {
		t.Errorf("%d commands have no output", len(checks))
	}
}

// traced is what is written to the module's parameter "run" when kprobes trace the sites.
const traced = 6

// events returns the kprobes that examples/inline makes for the sites of the module's functions.
func events(t *testing.T, base, types, sites, module string) string {
	t.Helper()
	listed := harness.Command{Argv: []string{harness.Tool(t, "btfdedup"), "dump", "--inline",
		"--format=json", "--name", "sites_scalars", "--name", "sites_pointer", "--name", "sites_struct",
		"--name", "sites_nested", "--elf", module, "--base", base, "--base", types, sites}}.Must(t)
	file := filepath.Join(t.TempDir(), "sites.json")
	harness.WriteFile(t, file, listed)
	return harness.MustRun(t, "", filepath.Join(harness.Repo(), "examples/inline/probes.py"), file)
}

var (
	traceLine = regexp.MustCompile(`: (sites_\w+)_\d+: \(\S+ \[sites\]\)(.*)`)
	traceWord = regexp.MustCompile(`(\w+)=0x([0-9a-f]+)`)
)

// checkTrace compares the values in a trace with what the module has passed.
func checkTrace(t *testing.T, sites []*inline.Site, output string) {
	sizes := map[string]uint64{} // 0 where the location isn't known
	for _, s := range sites {
		for _, p := range s.Params {
			sizes[s.Function+"."+p.Name] = max(sizes[s.Function+"."+p.Name], p.Size)
		}
	}
	pairs, trace, _ := strings.Cut(output, "\n")
	equal, refused := map[string]int{}, 0
	for line := range strings.Lines(trace) {
		if strings.HasPrefix(line, "refused: ") {
			refused++
			t.Log(line)
		}
		m := traceLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		for _, w := range traceWord.FindAllStringSubmatch(m[2], -1) {
			have, err := strconv.ParseUint(w[2], 16, 64)
			want := want(m[1], w[1], traced, pairs) & (^uint64(0) >> (64 - 8*sizes[m[1]+"."+w[1]]))
			if err != nil || have != want {
				t.Errorf("%s: want 0x%x", line, want)
			}
			equal[m[1]+"."+w[1]]++
		}
	}
	t.Logf("kprobes: %d refused; values: %v", refused, equal)
	if len(equal) < 10 {
		t.Errorf("too few results:\n%s", output)
	}
}

// choose returns the sites that functions of the module have, and what to read there.
func choose(t *testing.T, module string, all []*inline.Site) (chosen []*inline.Site,
	plan protocol.Plan) {
	t.Helper()
	f := must.Get(elf.Open(module))(t)
	defer f.Close()
	symbols := must.Get(f.Symbols())(t)
	plan.Numbers = numbers
	for _, s := range all {
		if !strings.HasPrefix(s.Function, "sites_") {
			continue
		}
		for _, symbol := range symbols {
			if elf.ST_TYPE(symbol.Info) != elf.STT_FUNC || s.Offset < symbol.Value ||
				s.Offset-symbol.Value >= symbol.Size || int(symbol.Section) >= len(f.Sections) ||
				f.Sections[symbol.Section].Name != s.Section {
				continue
			}
			site := protocol.Site{Symbol: symbol.Name, Offset: s.Offset - symbol.Value}
			for _, p := range s.Params {
				site.Locations = append(site.Locations, location(p))
			}
			chosen, plan.Sites = append(chosen, s), append(plan.Sites, site)
		}
	}
	return chosen, plan
}

// registers has the offsets in struct pt_regs of x86-64, by the registers' numbers in DWARF.
var registers = []int16{80, 96, 88, 40, 104, 112, 32, 152, 72, 64, 56, 48, 24, 16, 8, 0}

var form = regexp.MustCompile(`^(reg|mem) (\d+)([+-]\d+)?$`)

// location returns what a BPF program reads for a parameter. The frame base isn't known to it, and
// nothing is read for constants.
func location(p inline.Param) protocol.Location {
	m := form.FindStringSubmatch(p.Text)
	if m == nil || p.Size > 8 {
		return protocol.Location{}
	}
	register, _ := strconv.Atoi(m[2])
	offset, _ := strconv.Atoi(m[3])
	l := protocol.Location{Known: true, Register: registers[register], Offset: int32(offset)}
	if m[1] == "mem" {
		l.Size = int32(p.Size)
	}
	return l
}

// want returns the value of a parameter after a number was written; sites.c has the same formulas.
func want(function, param string, x int64, pairs string) uint64 {
	var start, size uint64
	fmt.Sscanf(pairs, "%x %x", &start, &size)
	switch function + "." + param {
	case "sites_scalars.a", "sites_nested.a":
		return uint64(3*x + 1)
	case "sites_scalars.b":
		return uint64(5*x + 2)
	case "sites_scalars.c":
		return uint64(7*x + 3)
	case "sites_scalars.d":
		return uint64(11*x + 4)
	case "sites_pointer.pair":
		return start + uint64(x&3)*size
	case "sites_pointer.n":
		return uint64(13*x + 5)
	case "sites_struct.small":
		return uint64((x+1)&0xffff | (x+2)&0xffff<<16 | (x+3)<<32)
	case "sites_struct.e":
		return uint64(17*x + 6)
	case "sites_nested.f":
		return uint64(19*x + 7)
	case "sites_nested.g":
		if x > 2 {
			return 1
		}
		return 0
	}
	panic(function + " has a parameter " + param)
}

// check compares what the programs have read with what the module has passed.
func check(t *testing.T, sites []*inline.Site, output string) {
	equal := map[string]int{} // by function and parameter
	results, refused, reached := 0, 0, 0
	for line := range strings.Lines(output) {
		var r protocol.Result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v in %q", err, output)
		}
		results++
		s := sites[r.Site]
		if r.Error != "" {
			refused++
			t.Logf("%v: %s", s, r.Error)
			continue
		}
		if r.Values[0] == 0 {
			continue
		}
		reached++
		for i, p := range s.Params {
			if !location(p).Known {
				continue
			}
			mask := ^uint64(0) >> (64 - 8*p.Size)
			have, want := r.Values[i+1]&mask, want(s.Function, p.Name, r.Number, r.Pairs)&mask
			if have == want {
				equal[s.Function+"."+p.Name]++
			} else {
				t.Errorf("%v: %s is 0x%x, want 0x%x", s, p.Name, have, want)
			}
		}
	}
	t.Logf("%d results, %d of sites that the kernel can't trace, %d of sites that were reached; "+
		"equal parameters: %v", results, refused, reached, equal)
	if len(equal) < 10 || results != len(sites)*len(numbers) {
		t.Error("too few results")
	}
}
