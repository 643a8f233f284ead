package random

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
)

// sound returns an error if a verb has written BTF that violates the kernel's rules. The arguments
// are those of "btfgen elf" or "btfdedup link"; the output of other verbs isn't BTF.
func (b *Build) sound(args []string) error {
	value := func(flag string) string {
		if i := slices.Index(args, flag); i >= 0 {
			return args[i+1]
		}
		return ""
	}
	if args[0] != "elf" && args[0] != "link" {
		return nil
	}
	var base *btf.Blob
	var err error
	if name := value("--base"); name != "" {
		if base, err = btf.ReadOne(b.path(name), nil); err != nil {
			return err
		}
	}
	blob, err := btf.ReadOne(b.path(value("-o")), base)
	if err != nil {
		return err
	}
	var wrong []string
	for _, v := range verify.Check(blob, verify.Options{Sorted: true}) {
		if !fromCompiler(args) || !strings.Contains(v.Detail, " is a FLOAT of ") {
			wrong = append(wrong, v.String())
		}
	}
	if err := list(wrong); err != nil {
		return fmt.Errorf("%s: the kernel refuses the BTF: %w", strings.Join(args, " "), err)
	}
	return nil
}

// fromCompiler reports whether checkCompilerBTF made the BTF from BTF that gcc wrote. Such BTF
// stays as it is, so packed structs may have FLOAT members that aren't aligned. A link without
// facts may leave such members too, but no check makes BTF in this way from anything but linked
// BTF.
func fromCompiler(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "outline.") })
}
