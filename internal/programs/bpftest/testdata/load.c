// Loads programs from an object file with libbpf into the running kernel:
//
//   load [--btf FILE] [--each] OBJECT [NAME]…
//
// The names are those of programs and struct_ops maps; others aren't loaded. Relocations are
// resolved with the BTF in FILE, by default the running kernel's. The output is "loaded" or
// "refused", and the log of libbpf and the verifier. With --each, the programs are loaded one after
// the other, and the output has a line for each program: its name, "loaded" or "refused", and
// "missing" if libbpf's log reports a relocation without a match in the program or its function
// NAME_sub. libbpf resolves the relocations of all functions that aren't programs.
#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static char log_text[1 << 20];
static size_t used;
static const char *program; /* with --each: the one that is loaded */
static bool missing;

/* Sets missing if a message is about the program or its function "PROGRAM_sub". */
static void look(const char *format, va_list args)
{
	char text[1024], start[256];
	const char *at;
	va_list copy;

	va_copy(copy, args);
	vsnprintf(text, sizeof(text), format, copy);
	va_end(copy);
	snprintf(start, sizeof(start), "prog '%s", program);
	at = strstr(text, start);
	if (at && (at[strlen(start)] == '\'' || at[strlen(start)] == '_'))
		missing = true;
}

static int print(enum libbpf_print_level level, const char *format, va_list args)
{
	if (program && strstr(format, "no matching targets found"))
		look(format, args);
	if (level == LIBBPF_WARN && used < sizeof(log_text) - 1) {
		int n = vsnprintf(log_text + used, sizeof(log_text) - used, format, args);

		used += n < 0 ? 0 : n;
		if (used > sizeof(log_text) - 1)
			used = sizeof(log_text) - 1;
	}
	return 0;
}

static const char *load(const char *file, const char *btf, int n, char **names)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = btf);
	struct bpf_object *obj;
	struct bpf_program *prog;
	struct bpf_map *map;
	const char *result;

	obj = bpf_object__open_file(file, &opts);
	if (!obj)
		return "refused";
	bpf_object__for_each_program(prog, obj) {
		bool wanted = false;

		for (int i = 0; i < n; i++)
			wanted |= !strcmp(bpf_program__name(prog), names[i]);
		bpf_program__set_autoload(prog, wanted);
	}
	bpf_object__for_each_map(map, obj) {
		bool wanted = false;

		if (bpf_map__type(map) != BPF_MAP_TYPE_STRUCT_OPS)
			continue;
		for (int i = 0; i < n; i++)
			wanted |= !strcmp(bpf_map__name(map), names[i]);
		bpf_map__set_autocreate(map, wanted);
	}
	result = bpf_object__load(obj) ? "refused" : "loaded";
	bpf_object__close(obj);
	return result;
}

int main(int argc, char **argv)
{
	const char *btf = NULL;
	bool each = false;
	int at = 1;

	libbpf_set_print(print);
	for (; at < argc && argv[at][0] == '-'; at++) {
		if (!strcmp(argv[at], "--each"))
			each = true;
		else
			btf = argv[++at];
	}
	if (!each) {
		printf("%s\n", load(argv[at], btf, argc - at - 1, argv + at + 1));
		fputs(log_text, stdout);
		return 0;
	}
	for (int i = at + 1; i < argc; i++) {
		const char *result;

		program = argv[i];
		missing = false;
		result = load(argv[at], btf, 1, argv + i);
		printf("%s %s%s\n", argv[i], result, missing ? " missing" : "");
	}
	return 0;
}
