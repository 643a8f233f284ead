"""A linked file or an archive as many BtfGen actions, each with a part of its compilation units."""

load(":conversion.bzl", "without_debug_files")
load(":convert_actions.bzl", "btf_gen", "btf_split")
load(":merge_tree.bzl", "merge_tree")

# As many as the tool makes.
_MAX = 4096

SHARDS_DOC = """Convert the DWARF of `{file}` in so many parts, each an action of its own.
`BtfSplit` writes small files, the shards, with the types of some compilation units each, and
`BtfGen` reads these instead of the whole file. The BTF is the same for any number. A unit's shard
follows from the name of its source file, and a shard has no addresses; so after an edit the shards
of other units are the same bytes, and their `BtfGen` is a cache hit. {more}"""

def sharded(ctx, elf, count, conversion, more = []):
    """Declares BtfSplit, a BtfGen for each shard, and the merges above them.

    Args:
        ctx: context of a rule with the toolchain.
        elf: File, a linked file or an archive.
        count: int, how many shards.
        conversion: what `conversion_of` returned.
        more: list of File, the members of a thin archive.

    Returns:
        depset of File, the BTF objects to link.
    """
    if count < 1 or count > _MAX:
        fail("{}: shards = {}: there are from 1 to {}".format(ctx.label, count, _MAX))
    beside = conversion.beside
    if conversion.input == "btf" or beside.dwos or beside.packages or beside.alt:
        fail(("{}: shards are parts of a file's own DWARF: convert what has BTF, or DWARF in " +
              ".dwo or supplementary files, without shards").format(ctx.label))
    elf = (beside.separate + [elf])[0]
    conversion = without_debug_files(conversion)
    shards = [
        ctx.actions.declare_file("{}.shards.d/{}-of-{}.elf".format(ctx.label.name, i + 1, count))
        for i in range(count)
    ]
    btf_split(ctx, elf, more, shards, conversion)
    objects = {}
    for shard in shards:
        out = ctx.actions.declare_file(
            "{}.btfo.d/{}.btfo".format(ctx.label.name, shard.basename),
        )
        btf_gen(ctx, [shard], out, conversion)
        objects[shard.basename] = out
    return depset(merge_tree(ctx, objects, ctx.label.name + ".merge.d", single = False))
