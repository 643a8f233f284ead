package random

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// Options say what a program contains and how it is built.
type Options struct {
	CXX       bool
	Annotated bool     // whether there are declaration tags and type tags
	Modern    bool     // whether C sources are C23
	Features  string   // the value of --features in checkFeatures
	Compilers []string // gcc, clang, or both: then they alternate from unit to unit
	Opt       string   // -O0 or -O2
	DWARF     []string // the flags that select the version and form of DWARF
	Sections  bool     // whether each function and variable has its own section
	Collect   bool     // whether the linker drops sections to which nothing refers
	Linker    string   // ld, ld.lld or mold
	LinkFlags []string // further flags of the linker
	PerCPU    string   // the address of per-CPU variables; if it is "", they follow the data
}

// NewOptions chooses options from a seed.
func NewOptions(seed uint64) Options {
	r := rand.New(rand.NewPCG(seed, 1))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	o := Options{
		CXX:       r.IntN(8) == 0,
		Annotated: r.IntN(2) == 0,
		Modern:    r.IntN(3) == 0,
		Features: pick("default,-consistent_func", "default,-optimized_func",
			"default,-consistent_func,-optimized_func", "default,true_signature",
			"default,true_signature,-optimized_func", "none"),
		Opt:    pick("-O0", "-O2", "-O2"),
		Linker: pick("ld", "ld", "ld", "ld", "ld.lld", "mold"),
	}
	switch n := r.IntN(10); {
	case n < 5:
		o.Compilers = []string{"gcc"}
	case n < 8:
		o.Compilers = []string{"clang"}
	default:
		o.Compilers = []string{"gcc", "clang"}
	}
	o.DWARF = strings.Fields(pick("-gdwarf-5", "-gdwarf-5", "-gdwarf-5", "-gdwarf-5", "-gdwarf-4",
		"-gdwarf-4", "-gdwarf-2 -gstrict-dwarf", "-gdwarf-3 -gstrict-dwarf",
		"-gdwarf-5 -fdebug-types-section", "-gdwarf-4 -fdebug-types-section",
		"-gdwarf-5 -gz"))
	if o.TypeUnits() { // compilers give different type units the same signature; the linker keeps one
		o.Compilers = o.Compilers[:1]
	}
	// When ld drops a unit, it also drops the type units from the same file, even if other units
	// refer to these type units.
	o.Collect = r.IntN(3) == 0 && !o.TypeUnits()
	o.Sections = o.Collect || r.IntN(6) == 0
	if r.IntN(3) == 0 && o.Linker == "ld" {
		o.PerCPU = "0" // as in amd64 kernels up to 6.14
	}
	if !harness.Has(o.Linker) { // Debian stable has no mold
		o.Linker = "ld"
	}
	if len(o.Compilers) == 1 && o.Compilers[0] == "gcc" && r.IntN(4) == 0 {
		o.DWARF = append(o.DWARF, "-fno-merge-debug-strings") // names are in the entries
	}
	return o
}

// Compiler returns the compiler for unit i: gcc or clang.
func (o Options) Compiler(i int) string { return o.Compilers[i%len(o.Compilers)] }

// TypeUnits reports whether types are in type units.
func (o Options) TypeUnits() bool { return o.has("-fdebug-types-section") }

func (o Options) has(flag string) bool {
	for _, f := range o.DWARF {
		if f == flag {
			return true
		}
	}
	return false
}

// Command returns the beginning of the command that compiles unit i.
func (o Options) Command(i int, u *Unit) []string {
	compiler := o.Compiler(i)
	if strings.HasSuffix(u.Path, ".s") { // the output of a compiler that may be missing here
		return []string{compiler, "-c"}
	}
	flags := []string{"-w", "-ffreestanding", "-fno-stack-protector", "-fno-pic", o.Opt}
	if u.CXX() {
		compiler = map[string]string{"gcc": "g++", "clang": "clang++"}[compiler]
		flags = append(flags, "-fno-exceptions", "-fno-asynchronous-unwind-tables")
		if compiler == "g++" {
			flags = append(flags, "-fpermissive")
		}
	}
	if o.Modern && !u.CXX() {
		flags = append(flags, "-std=gnu23")
	}
	if o.Sections {
		flags = append(flags, "-ffunction-sections", "-fdata-sections")
	}
	return append(append([]string{compiler, "-c"}, flags...), o.DWARF...)
}

// Simpler returns copies of the options, for shrinking. In each copy, one option is simpler.
func (o Options) Simpler() []Options {
	var all []Options
	add := func(change func(*Options)) {
		c := o
		change(&c)
		if fmt.Sprint(c) != fmt.Sprint(o) {
			all = append(all, c)
		}
	}
	add(func(c *Options) { c.DWARF = []string{"-gdwarf-5"} })
	add(func(c *Options) { c.Opt = "-O0" })
	add(func(c *Options) { c.Collect = false })
	add(func(c *Options) { c.Sections = c.Collect })
	add(func(c *Options) { c.Modern = false })
	add(func(c *Options) { c.PerCPU = "" })
	add(func(c *Options) { c.Linker = "ld" })
	add(func(c *Options) { c.Compilers = []string{"gcc"} })
	add(func(c *Options) { c.Compilers = []string{"clang"} })
	return all[:len(all):len(all)]
}

func (o Options) String() string {
	words := append([]string{strings.Join(o.Compilers, " and "), o.Opt}, o.DWARF...)
	if o.Modern {
		words = append(words, "-std=gnu23")
	}
	if o.Sections {
		words = append(words, "-ffunction-sections -fdata-sections")
	}
	words = append(append(words, "linked by", o.Linker), o.LinkFlags...)
	if o.Collect {
		words = append(words, "--gc-sections")
	}
	if o.PerCPU != "" {
		words = append(words, "per-CPU variables at", o.PerCPU)
	}
	return strings.Join(words, " ")
}
