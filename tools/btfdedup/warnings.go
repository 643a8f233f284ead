package main

import (
	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/kernel/loader"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// warnOfBases prints one warning, however many of the modules may have the wrong base. The
// parameter doubts says why, for each of these modules.
func warnOfBases(env *cli.Env, doubts []string, modules int) {
	switch more := len(doubts) - 1; {
	case more < 0:
	case more == 0:
		env.Warn("%s", doubts[0])
	default:
		env.Warn("%s (and %s, of %d, may have the wrong base)", doubts[0],
			message.Count(more, "more module"), modules)
	}
}

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
