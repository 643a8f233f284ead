package repro

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// rulesFile has rules whose targets have one action each. The keys and outputs of these actions can
// differ between the two builds.
const rulesFile = `
load(":values.bzl", "values")

def _out(ctx):
    return ctx.actions.declare_file(ctx.label.name + (getattr(ctx.attr, "ending", "") or ".txt"))

def _command_impl(ctx):
    out = _out(ctx)
    args = ctx.actions.args()
    args.add_all(ctx.attr.arguments)
    args.add(out)
    args.add_all(ctx.files.srcs + ctx.files.tools, expand_directories = False)
    ctx.actions.run_shell(
        inputs = ctx.files.srcs,
        outputs = [out],
        tools = ctx.files.tools,
        mnemonic = ctx.attr.mnemonic,
        arguments = [args],
        command = ctx.attr.command,
        env = ctx.attr.env,
        use_default_shell_env = ctx.attr.default_env,
        execution_requirements = {"supports-path-mapping": "1"},
    )
    return [DefaultInfo(files = depset([out]))]

command = rule(_command_impl, attrs = {
    "arguments": attr.string_list(),
    "command": attr.string(mandatory = True),
    "default_env": attr.bool(),
    "ending": attr.string(),
    "env": attr.string_dict(),
    "mnemonic": attr.string(mandatory = True),
    "srcs": attr.label_list(allow_files = True),
    "tools": attr.label_list(allow_files = True),
})

def _params_impl(ctx):
    out = _out(ctx)
    args = ctx.actions.args()
    args.use_param_file("@%s", use_always = True)
    args.add_all(ctx.attr.arguments)
    ctx.actions.run_shell(
        outputs = [out],
        mnemonic = "WithParams",
        arguments = [out.path, args],
        command = "cat ${2#@} > $1",
    )
    return [DefaultInfo(files = depset([out]))]

params = rule(_params_impl, attrs = {"arguments": attr.string_list()})

def _tree_impl(ctx):
    out = ctx.actions.declare_directory(ctx.label.name)
    ctx.actions.run_shell(
        outputs = [out],
        mnemonic = "MakeTree",
        arguments = [out.path],
        command = "echo fixed > $1/fixed; cat /proc/sys/kernel/random/uuid > $1/random",
    )
    return [DefaultInfo(files = depset([out]))]

tree = rule(_tree_impl)

def _link_impl(ctx):
    out = _out(ctx)
    ctx.actions.symlink(output = out, target_file = ctx.file.src)
    return [DefaultInfo(files = depset([out]))]

link = rule(_link_impl, attrs = {"src": attr.label(allow_single_file = True)})
`

const buildFile = `
load(":rules.bzl", "command", "link", "params", "tree")
load(":values.bzl", "values")

COPY = "out=$1; shift; cat $@ > $out"

command(name = "same", mnemonic = "Same", srcs = ["same.in"], command = COPY)

# The output of this action is random.
command(
    name = "random",
    mnemonic = "Random",
    command = "cat /proc/sys/kernel/random/uuid > $1",
)
command(name = "uses_random", mnemonic = "UsesRandom", srcs = [":random"], command = COPY)
command(name = "uses_that", mnemonic = "UsesThat", srcs = [":uses_random"], command = COPY)
tree(name = "directory")
command(
    name = "uses_directory",
    mnemonic = "UsesDirectory",
    srcs = [":directory"],
    command = "cat $2/* > $1",
)

# For each of these actions, one part of the key changes.
command(
    name = "argument",
    mnemonic = "Argument",
    arguments = [values.argument],
    command = "echo $1 > $2",
)
command(
    name = "leak",
    mnemonic = "Leak",
    arguments = ["-I" + values.where + "/include"],
    command = "echo $1 > $2",
)
command(
    name = "environment",
    mnemonic = "Environment",
    env = {"WORD": values.word},
    command = "echo $WORD > $1",
)
command(
    name = "platform",
    mnemonic = "Platform",
    exec_properties = {"size": values.property},
    command = "echo > $1",
)
command(name = "source", mnemonic = "Source", srcs = ["source.in"], command = COPY)
link(name = "linked", src = "source.in")
command(name = "uses_link", mnemonic = "UsesLink", srcs = [":linked"], command = COPY)
command(name = "tool", mnemonic = "Tool", tools = ["tool.sh"], command = "sh $2 > $1")
command(name = "make_tool", mnemonic = "MakeTool", srcs = ["source.in"], command =
    "(echo -n 'echo '; cat $2) > $1")
command(name = "made_tool", mnemonic = "MadeTool", tools = [":make_tool"], command = "sh $2 > $1")
params(name = "params", arguments = ["-x", values.argument])

# In the input, a comment changes that the action removes.
command(
    name = "comment",
    mnemonic = "Comment",
    srcs = ["comment.in"],
    command = "grep -v '^#' $2 > $1",
)
command(name = "uses_comment", mnemonic = "UsesComment", srcs = [":comment"], command = COPY)

# These have two causes, one of which comes from another action.
command(
    name = "both",
    mnemonic = "Both",
    arguments = [values.argument],
    srcs = [":random"],
    command = "echo $1 > $2; cat $3 >> $2",
)
command(
    name = "joined",
    mnemonic = "Joined",
    srcs = [":both", ":uses_link"],
    command = COPY,
)

# This action fails in one build.
command(
    name = "fails",
    mnemonic = "Fails",
    arguments = [values.exit],
    command = "echo > $2; exit $1",
)

# Each of these targets is only in one build.
command(name = "only_" + values.side, mnemonic = "Only", command = "echo > $1")

command(
    name = "btf",
    ending = ".btf",
    mnemonic = "Types",
    srcs = ["types.btf"],
    command = "cp $2 $1",
)
`

// values has a values.bzl for each of the two builds. The BUILD file uses the values in it.
var values = [2]string{`
values = struct(
    argument = "-O1",
    exit = "0",
    property = "small",
    side = "a",
    where = "/home/one/work",
    word = "hello",
)
`, `
values = struct(
    argument = "-O2",
    exit = "3",
    property = "large",
    side = "b",
    where = "/srv/two",
    word = "goodbye",
)
`}

// sources are the source files, most of which differ between the builds. The keys are their names.
var sources = map[string][2]string{
	"source.in":  {"one\n", "two\n"},
	"tool.sh":    {"echo one\n", "echo two\n"},
	"comment.in": {"# one\nsame\n", "# two\nsame\n"},
	"same.in":    {"same\n", "same\n"},
}

// workspace is a workspace on disk, and the Bazel that builds it.
type workspace struct {
	dir   string
	bazel string
	bases [2]string // the output bases of the two builds
	logs  string    // the directory for logs
}

// newWorkspace writes the workspace as it is for the first build.
func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	w := &workspace{dir: t.TempDir(), bazel: findBazel(t), logs: os.Getenv("KEEP_LOGS")}
	if w.logs == "" {
		w.logs = t.TempDir()
	}
	w.makeBases(t)
	w.write(t, "MODULE.bazel", "module(name = \"planted\")\n")
	w.write(t, "rules.bzl", rulesFile)
	w.write(t, "BUILD.bazel", buildFile)
	w.prepare(t, 0)
	return w
}

// makeBases makes an output base for each of the two builds.
func (w *workspace) makeBases(t *testing.T) {
	t.Helper()
	for i := range w.bases {
		w.bases[i] = must.Get(os.MkdirTemp("", "bazel"))(t)
		t.Cleanup(func() { // also ends the server
			bazel := []string{w.bazel, "--output_base=" + w.bases[i]}
			harness.Command{Argv: append(bazel, "clean", "--expunge"), Dir: w.dir}.Run()
			harness.Command{Argv: []string{"chmod", "-R", "u+w", w.bases[i]}}.Run()
			os.RemoveAll(w.bases[i])
		})
	}
}

func findBazel(t *testing.T) string {
	t.Helper()
	if bazel := os.Getenv("BAZEL"); bazel != "" {
		return bazel
	}
	bazel, err := exec.LookPath("bazel")
	if err != nil {
		t.Skip("SKIPPED: bazel isn't on PATH (./bazelw --root-exec has it)")
	}
	t.Setenv("BAZEL", bazel)
	return bazel
}

func (w *workspace) write(t *testing.T, name, text string) {
	t.Helper()
	harness.WriteFile(t, filepath.Join(w.dir, name), text)
}

// prepare writes the files as they are for the given build, 0 or 1.
func (w *workspace) prepare(t *testing.T, build int) {
	t.Helper()
	w.write(t, "values.bzl", values[build])
	for name, text := range sources {
		w.write(t, name, text[build])
	}
	w.write(t, "types.btf", string(types(t, build)))
}

// types returns BTF that btfgen has made, with a struct that differs between the builds.
func types(t *testing.T, build int) []byte {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "types.c")
	member := [2]string{"int second;", "long second;"}[build]
	harness.WriteFile(t, source, "struct changed { int first; "+member+" };\nstruct changed c;\n")
	harness.MustRun(t, dir, "gcc", "-g", "-c", source, "-o", "types.o")
	harness.MustRun(t, dir, harness.Tool(t, "btfgen"), "elf", "-q", "-o", "types.btf",
		"--features=all,global_var", "types.o")
	return harness.ReadFile(t, filepath.Join(dir, "types.btf"))
}

// build builds all targets from scratch, in the output base of the given build, and returns the
// path of the log.
func (w *workspace) build(t *testing.T, name string, build int, flags ...string) string {
	t.Helper()
	log := filepath.Join(w.logs, fmt.Sprintf("%s_%c.log", name, 'a'+build))
	bazel := []string{w.bazel, "--output_base=" + w.bases[build]}
	harness.MustRun(t, w.dir, append(bazel, "clean")...)
	argv := append(append(bazel, "build", "--keep_going", "--symlink_prefix=/",
		"--execution_log_compact_file="+log), flags...)
	result, err := harness.Command{Argv: append(argv, "//..."), Dir: w.dir}.Run()
	if err != nil || result.Exit > 1 {
		t.Fatalf("bazel: %v, exit code %d\n%s", err, result.Exit, result.Stderr)
	}
	return log
}

// btfrepro runs the tool btfrepro, checks its exit code, and returns its standard output.
func btfrepro(t *testing.T, code int, args ...string) string {
	t.Helper()
	argv := append([]string{harness.Tool(t, "btfrepro")}, args...)
	result, err := harness.Command{Argv: argv, Timeout: time.Hour}.Run()
	if err != nil || result.Exit != code {
		t.Fatalf("btfrepro %s: %v, exit code %d, want %d\n%s%s", strings.Join(args, " "), err,
			result.Exit, code, result.Stdout, result.Stderr)
	}
	return result.Stdout
}
