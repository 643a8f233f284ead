package main

import (
	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/inspect/kabi"
	"github.com/rules-btf/rules_btf/internal/kernel/loader"
)

// warnOfForeign warns if the BTF b from the file at path is that of another module than f.
func warnOfForeign(env *cli.Env, f *elf.File, b *btf.Blob, path string) error {
	if !f.IsModule() {
		return nil
	}
	n, err := loader.Foreign(f, b)
	if n > 0 {
		env.Warn("%s: it has none of the functions that %s describes (%d were looked up); is that the "+
			"BTF of another module?", f.Path, path, n)
	}
	return err
}

// warnOfChain warns if the BTF that is embedded in modules is based on several BTFs.
func warnOfChain(env *cli.Env) {
	if n := len(env.Bases); n > 1 {
		env.Warn("%s: there are %d bases, but the kernel refuses modules whose BTF isn't based on the "+
			"BTF of vmlinux alone", env.Bases[n-1], n)
	}
}

// warnUnmatched warns of allowances that allow nothing.
func warnUnmatched(env *cli.Env, list []*kabi.Allowance) {
	for _, a := range list {
		env.Warn("an entry of --allow or --allow-file matches nothing: %s", a.String())
	}
}

// warnGone warns if B, which has no modules, lacks so many symbols that A probably has modules.
func warnGone(env *cli.Env, files []string, symbols int, list []diff.Difference) {
	gone := 0
	for _, d := range list {
		if d.Class == diff.OnlyA && d.Note == "" && (d.Kind == "func" || d.Kind == "var") {
			gone++
		}
	}
	if gone > 10 && gone > symbols/10 {
		env.Warn("%s lacks %d of the %d symbols; if %s has modules, compare both kernels with their "+
			"modules", files[1], gone, symbols, files[0])
	}
}

// warnSame warns if two paths lead to the same file.
func warnSame(env *cli.Env, a, b string) {
	if sameFile(a, b) {
		env.Warn("%s and %s are the same file", a, b)
	}
}

// warnOfNoModules warns if a directory or archive has only the BTF of a kernel. Modules in files
// *.ko, or in directories below it, aren't read.
func warnOfNoModules(env *cli.Env, path string, s diff.Set) {
	if s.Kernel != nil && len(s.Modules) == 0 {
		env.Warn("%s: there is a kernel's BTF, but no module's next to it; btfdedup archive "+
			"puts both into one file", path)
	}
}
