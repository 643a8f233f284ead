package main

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/model/features"
)

// argument says whether an option takes a value.
type argument uint8

const (
	noValue argument = iota
	needsValue
	mayHaveValue
)

// option is an option of pahole 1.32.
type option struct {
	name  string // without dashes
	short byte   // 0: it has no short form
	takes argument
	value string // what the value is, for the help text
	// set does what the option says, with its value. It is nil for an option that is refused.
	set  func(c *command, value string) error
	help string // of a refused option: why, "" if it prints types
}

// elsewhere says what to use for what this pahole doesn't do.
const elsewhere = "to print types use bpftool btf dump file FILE format c, or the pahole of dwarves"

// refusal is the error for an option that is refused.
func (o *option) refusal() error {
	if o.help != "" {
		return cli.Usagef("--%s is not supported: %s", o.name, o.help)
	}
	return cli.Usagef("--%s is about printing types, and this pahole encodes BTF only; %s", o.name,
		elsewhere)
}

// ignore is for options that change nothing here.
func ignore(*command, string) error { return nil }

// notEmpty refuses the empty name of a file, such as that of a shell's variable that is not set.
func notEmpty(option, value string) error {
	if value == "" {
		return cli.Usagef("--%s is empty; name a file", option)
	}
	return nil
}

// options are those of pahole 1.32 (pahole__options in pahole.c), and argp's own.
func options() []option {
	return append(encoding(), refused()...)
}

// encoding are the options about encoding BTF.
func encoding() []option {
	return []option{
		{name: "btf_encode", short: 'J', help: "encode each FILE, and write the BTF to its section .BTF",
			set: func(c *command, _ string) error { c.inPlace = true; return nil }},
		{name: "btf_encode_detached", takes: needsValue, value: "OUT",
			help: "encode FILE, and write the raw BTF to OUT; FILE isn't changed",
			set: func(c *command, value string) error {
				c.detached = value
				return notEmpty("btf_encode_detached", value)
			}},
		{name: "btf_base", takes: needsValue, value: "BASE",
			help: "encode split BTF based on BASE: an ELF file such as vmlinux, or raw BTF",
			set: func(c *command, value string) error {
				c.base = value
				return notEmpty("btf_base", value)
			}},
		{name: "btf_features", takes: needsValue, value: "LIST",
			help: "comma-separated features to encode; \"default\" is the set of kernels, and a + " +
				"before the list adds to it; unknown names are ignored",
			set: func(c *command, value string) error { return c.addFeatures(value, false) }},
		{name: "btf_features_strict", takes: needsValue, value: "LIST",
			help: "the same, but an unknown name is an error",
			set:  func(c *command, value string) error { return c.addFeatures(value, true) }},
		{name: "supported_btf_features", help: "print the names of the features",
			set: func(c *command, _ string) error { c.show = supported() + "\n"; return nil }},
		{name: "btf_gen_all", help: "the same as --btf_features=default",
			set: func(c *command, _ string) error { return c.addFeatures("all", false) }},
		{name: "btf_gen_floats", help: "the feature float, if there is no list of features",
			set: on(features.Float)},
		{name: "btf_gen_optimized", help: "the feature optimized_func", set: on(features.OptimizedFunc)},
		{name: "btf_attributes", help: "the feature attributes", set: on(features.Attributes)},
		{name: "btf_encode_force", help: "the feature encode_force", set: on(features.EncodeForce)},
		{name: "reproducible_build", help: "accepted: the BTF is always reproducible", set: ignore},
		{name: "skip_encoding_btf_vars", help: "without the feature var", set: off(features.Var)},
		{name: "skip_encoding_btf_decl_tag", help: "without the feature decl_tag",
			set: off(features.DeclTag)},
		{name: "skip_encoding_btf_type_tag", help: "without the feature type_tag",
			set: off(features.TypeTag)},
		{name: "skip_encoding_btf_enum64", help: "without the feature enum64",
			set: off(features.Enum64)},
		{name: "skip_encoding_btf_inconsistent_proto", help: "the feature consistent_func",
			set: on(features.ConsistentFunc)},
		{name: "lang_exclude", takes: needsValue, value: "LANGUAGES",
			help: "leave out compilation units in these languages, such as rust",
			set:  func(c *command, value string) error { c.exclude = value; return nil }},
		{name: "kabi_prefix", takes: needsValue, value: "PREFIX",
			help: "shorten names that begin with PREFIX to PREFIX",
			set:  func(c *command, value string) error { c.prefix = value; return nil }},
		{name: "jobs", short: 'j', takes: mayHaveValue, value: "N",
			help: "the number of threads; the default is one for each processor",
			set:  (*command).setJobs},
		{name: "format_path", short: 'F', takes: needsValue, value: "dwarf",
			help: "the debugging information to read", set: (*command).setFormat},
		{name: "hashbits", takes: needsValue, value: "BITS", help: "accepted and ignored", set: ignore},
		{name: "verbose", short: 'V',
			help: "print each phase, and each function that isn't encoded, with the reason",
			set:  func(c *command, _ string) error { c.verbose = true; return nil }},
		{name: "quiet", short: 'q', help: "no warnings",
			set: func(c *command, _ string) error { c.quiet = true; return nil }},
		{name: "numeric_version", help: "print the version of pahole that this one replaces, such as 132",
			set: func(c *command, _ string) error { c.show = fmt.Sprintln(int(c.version)); return nil }},
		{name: "version", help: "print it in the form v1.32",
			set: func(c *command, _ string) error { c.show = fmt.Sprintln(c.version); return nil }},
		{name: "help", short: '?', help: "print this text",
			set: func(c *command, _ string) error { c.show = helpText(); return nil }},
		{name: "usage", help: "print this text",
			set: func(c *command, _ string) error { c.show = helpText(); return nil }},
	}
}

// refused are the options that choose between units, and those that print types.
func refused() []option {
	list := []option{
		{name: "lang", takes: needsValue, help: "leave out languages with --lang_exclude"},
		{name: "cu_exclude", short: 'X', takes: needsValue,
			help: "all compilation units are encoded, except those of --lang_exclude"},
		{name: "first_obj_only", help: "all compilation units are encoded"},
		{name: "running_kernel_vmlinux", help: "name the vmlinux"},
	}
	for _, o := range []struct {
		name  string
		short byte
	}{
		{"bit_holes", 'B'}, {"cacheline_size", 'c'}, {"class_name", 'C'}, {"count", 0}, {"skip", 0},
		{"seek_bytes", 0}, {"size_bytes", 0}, {"range", 0}, {"header_type", 0},
		{"find_pointers_to", 'f'}, {"contains", 'i'}, {"contains_enumerator", 0}, {"holes", 'H'},
		{"padding", 0}, {"padding_ge", 0}, {"hole_size_ge", 'z'}, {"separator", 't'},
		{"decl_exclude", 'D'}, {"exclude", 'x'}, {"prefix_filter", 'y'}, {"word_size", 'w'},
		{"prettify", 0},
	} {
		list = append(list, option{name: o.name, short: o.short, takes: needsValue})
	}
	for _, o := range []struct {
		name  string
		short byte
	}{
		{"show_decl_info", 'I'}, {"packable", 'P'}, {"with_flexible_array", 0},
		{"with_embedded_flexible_array", 0}, {"expand_types", 'E'}, {"nr_members", 'n'},
		{"rel_offset", 'r'}, {"recursive", 'd'}, {"reorganize", 'R'}, {"show_reorg_steps", 'S'},
		{"class_name_len", 'N'}, {"show_first_biggest_size_base_type_member", 'l'}, {"nr_methods", 'm'},
		{"show_only_data_members", 'M'}, {"expand_pointers", 'p'}, {"sizes", 's'},
		{"nr_definitions", 'T'}, {"anon_include", 'a'}, {"nested_anon_include", 'A'},
		{"defined_in", 'u'}, {"ctf_encode", 'Z'}, {"flat_arrays", 0}, {"suppress_aligned_attribute", 0},
		{"suppress_force_paddings", 0}, {"suppress_packed", 0}, {"show_private_classes", 0},
		{"fixup_silly_bitfields", 0}, {"classes_as_structs", 0}, {"hex", 0}, {"compile", 0},
		{"structs", 0}, {"unions", 0}, {"packed", 0}, {"sort", 0}, {"ptr_table_stats", 0},
		{"skip_missing", 0}, {"skip_emitting_atomic_typedefs", 0},
	} {
		list = append(list, option{name: o.name, short: o.short})
	}
	return list
}
