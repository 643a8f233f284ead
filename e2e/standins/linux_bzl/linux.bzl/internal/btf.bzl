"""The actions that run pahole, and the tools that they need."""

_FEATURES = ",".join([
    "encode_force",
    "var",
    "float",
    "enum64",
    "decl_tag",
    "type_tag",
    "optimized_func",
    "consistent_func",
    "decl_tag_kfuncs",
])

# The attributes of rules that run pahole. linux.bzl passes the label of pahole to its rules.
BTF_ATTRS = {
    "pahole": attr.label(
        cfg = "exec",
        default = Label("@pahole//:pahole"),
        executable = True,
    ),
    "_btfmutate": attr.label(
        cfg = "exec",
        default = Label("//internal/cmd:btfmutate"),
        executable = True,
    ),
    "_llvm_objcopy": attr.label(
        cfg = "exec",
        default = Label("//internal/cmd:llvm-objcopy"),
        executable = True,
    ),
}

def btf_tools(ctx):
    """The tools of BTF actions, from a rule with BTF_ATTRS."""
    return struct(
        btfmutate = ctx.attr._btfmutate[DefaultInfo].files_to_run,
        llvm_objcopy = ctx.executable._llvm_objcopy,
        pahole = ctx.attr.pahole[DefaultInfo].files_to_run,
    )

def pahole_flags(version, external_module = False):
    """The flags for pahole 1.31, the only version for which linux.bzl configures kernels."""
    flags = ["--btf_features=" + _FEATURES]
    major, minor = version.split(".")[:2]
    if (int(major), int(minor)) >= (6, 18):
        flags.append("--btf_features=attributes")
    flags.append("--lang_exclude=rust")
    if external_module:
        flags.append("--btf_features=distilled_base")
    return flags

def _mutate(ctx, tools, src, out, options, command, mnemonic, inputs = []):
    """Runs a command on a copy of a file, and with no other environment than that in options."""
    args = ctx.actions.args()
    args.add("-input", src)
    args.add("-output", out)
    for option, value, format in options:
        args.add(option)
        args.add(value, format = format)
    args.add("--")
    for word in command:
        args.add(word)
    ctx.actions.run(
        executable = tools.btfmutate,
        arguments = [args],
        execution_requirements = {"supports-path-mapping": "1"},
        inputs = [src] + inputs,
        mnemonic = mnemonic,
        outputs = [out],
        tools = [tools.pahole, tools.llvm_objcopy],
    )

def encode(ctx, tools, linked, out, flags, mnemonic, base = None):
    """Declares the action that runs pahole on a copy of a linked file."""
    command = [tools.pahole.executable, "-J"] + flags
    if base:
        command += ["--btf_base", base]
    _mutate(
        ctx,
        tools,
        linked,
        out,
        [("-env", tools.llvm_objcopy, "LLVM_OBJCOPY=%s")],
        command + ["{output}"],
        mnemonic,
        inputs = [base] if base else [],
    )

def extract(ctx, tools, encoded, out):
    """Declares the action that makes an object file from the BTF in a linked file."""
    command = [
        tools.llvm_objcopy,
        "--only-section=.BTF",
        "--set-section-flags",
        ".BTF=alloc,readonly",
        "--strip-all",
        encoded,
        "{output}",
    ]
    _mutate(
        ctx,
        tools,
        encoded,
        out,
        [("-elf-et-rel-endian", "little", "%s")],
        command,
        "LinuxBTFExtract",
    )
