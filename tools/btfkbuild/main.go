// Command btfkbuild writes BUILD files with which Bazel makes the BTF of a tree that Kbuild built.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/kernel/kbuild"
	"github.com/rules-btf/rules_btf/internal/kernel/kbuild/buildfiles"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/language"
	"github.com/rules-btf/rules_btf/internal/support/mapped"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

const description = `
Writes BUILD files into TREE, a directory where Kbuild built a kernel or modules: one in each
directory with objects. The BUILD file in TREE itself has the targets vmlinux_btf, modules_btf and
all_btf. TREE/kbuild.skipped lists objects without DWARF. A second run changes nothing. The comment
"# keep" protects a rule, an attribute or a list item from changes. If the objects have no DWARF
before the link (CONFIG_LTO_CLANG, GCC's -flto), the linked files are converted, as with
--vmlinux=whole --modules=whole.

Exit codes: 0 if all files are up to date or were written; 1 if the tree can't be read, or with
--check if a file is not up to date; 2 for wrong usage.`

type options struct {
	tree, out  string
	symlinks   bool
	check      bool
	inputs     string
	modules    string
	vmlinux    string
	build      buildfiles.Options
	excludeSet bool
}

var errStale = errors.New("not up to date; run without --check")

func main() { cli.Main(command) }

func command() *cobra.Command {
	o := &options{}
	c := &cobra.Command{Use: "btfkbuild TREE", Long: strings.TrimSpace(description),
		Short: "Write BUILD files for a tree that Kbuild built",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 || args[0] == "":
				return errors.New("TREE is missing: specify the directory in which Kbuild built")
			case len(args) > 1:
				return fmt.Errorf("too many arguments: the command takes TREE, but also got %q", args[1])
			}
			return nil
		}}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&o.modules, "modules", "objects", "`what` to convert for modules: \"objects\","+
		" \"whole\" (the .ko files) or \"none\"")
	flags.StringVar(&o.vmlinux, "vmlinux", "objects", "`what` to convert for vmlinux: \"objects\""+
		" or \"whole\" (vmlinux itself)")
	flags.StringVar(&o.build.Base, "base", "", "the `LABEL` of the BTF on which modules are based, if"+
		" TREE has no vmlinux")
	flags.StringSliceVar(&o.build.Features, "btf-features", nil, "set the attribute btf_features of"+
		" the targets to `LIST` (see docs/features.md)")
	flags.StringSliceVar(&o.build.LangExclude, "lang-exclude", nil, "set the attribute lang_exclude"+
		" of the targets to `LIST`; the default is rust if the kernel was configured with Rust")
	flags.BoolVar(&o.build.Inline, "inline", false, "set the attribute inline of the targets, for BTF"+
		" of the sites where functions were inlined")
	flags.StringVar(&o.build.Rules, "rules", buildfiles.DefaultRules, "the `LABEL` from which BUILD"+
		" files load the rules")
	flags.StringVar(&o.out, "out", "", "write to `DIR`, such as the root of a repository,"+
		" instead of TREE")
	flags.BoolVar(&o.symlinks, "symlinks", false, "with --out: also make symbolic links to the files"+
		" in TREE")
	flags.BoolVar(&o.check, "check", false, "write nothing; print which files are not up to date")
	flags.StringVar(&o.inputs, "inputs", "", "list in `FILE` the files on which the result depends")
	c.RunE = cli.RunE(func(env *cli.Env, args []string) error {
		if err := o.verify(flags); err != nil {
			return cli.Usagef("%v", err)
		}
		o.tree, o.out, o.inputs = place(args[0]), place(o.out), place(o.inputs)
		return o.run(env.Stdout, env.Stderr)
	})
	return c
}

func (o *options) verify(flags *pflag.FlagSet) error {
	o.excludeSet = flags.Changed("lang-exclude")
	switch {
	case flags.Changed("out") && o.out == "":
		return errors.New("--out is empty; specify a directory")
	case flags.Changed("inputs") && o.inputs == "":
		return errors.New("--inputs is empty; specify a file")
	case !slices.Contains([]string{"objects", "whole", "none"}, o.modules):
		return fmt.Errorf("--modules=%s: must be \"objects\", \"whole\" or \"none\"", o.modules)
	case !slices.Contains([]string{"objects", "whole"}, o.vmlinux):
		return fmt.Errorf("--vmlinux=%s: must be \"objects\" or \"whole\"", o.vmlinux)
	case o.symlinks && o.out == "":
		return errors.New("--symlinks needs --out")
	}
	if _, err := features.Parse(strings.Join(o.build.Features, ",")); err != nil {
		return fmt.Errorf("--btf-features: %w", err)
	}
	if _, err := language.Parse(strings.Join(o.build.LangExclude, ",")); err != nil {
		return fmt.Errorf("--lang-exclude: %w", err)
	}
	return nil
}

// place makes a path absolute. "bazel run" sets BUILD_WORKING_DIRECTORY to the user's directory.
func place(path string) string {
	if path == "" {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(os.Getenv("BUILD_WORKING_DIRECTORY"), path)
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return path
}

// read reads the tree, or only its linked files if the objects have no DWARF before the link.
func (o *options) read(stderr io.Writer) (*kbuild.Tree, error) {
	from := kbuild.Options{NoObjects: o.vmlinux == "whole", NoModules: o.modules == "none",
		Whole: o.modules == "whole"}
	t, err := kbuild.Read(o.tree, from)
	if errors.Is(err, kbuild.ErrLTO) {
		fmt.Fprintf(stderr, "%s: note: its objects have no DWARF before the link (LTO), so the"+
			" linked files are converted instead: vmlinux and the .ko files\n", o.tree)
		from.NoObjects, from.Whole = true, true
		t, err = kbuild.Read(o.tree, from)
	}
	o.build.Vmlinux, o.build.Whole = from.NoObjects, from.Whole
	return t, err
}

// Rule: languages left out: Rust, in kernels with it.
func (o *options) run(stdout, stderr io.Writer) error {
	t, err := o.read(stderr)
	if err != nil {
		return err
	}
	if err := mapped.Check(); err != nil {
		return err // before anything is written
	}
	if t.Rust && !o.excludeSet {
		o.build.LangExclude = []string{"rust"}
	}
	dir := o.out
	if dir == "" {
		dir = o.tree
		o.build.Package = packageOf(dir)
	}
	packages, err := buildfiles.Packages(t, o.build)
	if err != nil {
		return fmt.Errorf("%s: %w", o.tree, err)
	}
	changes, err := buildfiles.Changes(dir, packages, buildfiles.SkippedText(t))
	if err != nil {
		return err
	}
	if o.check {
		for _, c := range changes {
			fmt.Fprintln(stdout, c.Path)
		}
		if len(changes) > 0 {
			return fmt.Errorf("%s: %s %w", dir, message.Count(len(changes), "file"), errStale)
		}
		return nil
	}
	if err := buildfiles.Apply(changes); err != nil {
		return err
	}
	if o.symlinks {
		if err := buildfiles.Link(o.tree, dir, packages); err != nil {
			return err
		}
	}
	if o.inputs != "" {
		text := strings.Join(t.Inputs, "\n") + "\n"
		if err := os.WriteFile(o.inputs, []byte(text), 0o666); err != nil {
			return err
		}
	}
	summary(stderr, o.tree, t)
	return nil
}

// summary prints what was found, and warns about what may be missing in the BTF.
func summary(w io.Writer, tree string, t *kbuild.Tree) {
	fmt.Fprintf(w, "%s:", tree)
	if v := t.Vmlinux; v != nil && v.From != "" {
		fmt.Fprintf(w, " %s of vmlinux (from %s),", message.Count(len(v.Objects), "object"), v.From)
	}
	fmt.Fprintf(w, " %s, %s without DWARF\n", message.Count(len(t.Modules), "module"),
		message.Count(len(t.Skipped), "object"))
	if n := len(t.Missing); n > 0 {
		fmt.Fprintf(w, "%s: warning: there is no object file for %s of vmlinux, such as %s, so "+
			"its BTF lacks types: build again, or read vmlinux itself (vmlinux = \"whole\")\n", tree,
			message.Count(n, "source file"), strings.Join(t.Missing[:min(n, 3)], ", "))
	}
}

// packageOf returns the path of a directory, relative to the repository that contains it.
func packageOf(dir string) string {
	for root := dir; ; root = filepath.Dir(root) {
		for _, name := range []string{"MODULE.bazel", "REPO.bazel", "WORKSPACE", "WORKSPACE.bazel"} {
			if st, err := os.Stat(filepath.Join(root, name)); err == nil && st.Mode().IsRegular() {
				rel, err := filepath.Rel(root, dir)
				if err != nil || rel == "." {
					return ""
				}
				return filepath.ToSlash(rel)
			}
		}
		if root == filepath.Dir(root) {
			return ""
		}
	}
}
