// Loads an object file with libbpf into the running kernel: load OBJECT [NAME]…, where the names
// are of programs and struct_ops maps. Others aren't loaded. It prints "loaded", or "refused" and
// what libbpf and the verifier say.
#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static char log_text[1 << 20];
static size_t used;

static int print(enum libbpf_print_level level, const char *format, va_list args)
{
	if (level == LIBBPF_WARN && used < sizeof(log_text) - 1) {
		int n = vsnprintf(log_text + used, sizeof(log_text) - used, format, args);

		used += n < 0 ? 0 : n;
		if (used > sizeof(log_text) - 1)
			used = sizeof(log_text) - 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct bpf_object *obj;
	struct bpf_program *prog;
	struct bpf_map *map;

	libbpf_set_print(print);
	obj = bpf_object__open(argv[1]);
	if (!obj) {
		printf("refused\n%s", log_text);
		return 0;
	}
	bpf_object__for_each_program(prog, obj) {
		bool wanted = false;

		for (int i = 2; i < argc; i++)
			wanted |= !strcmp(bpf_program__name(prog), argv[i]);
		bpf_program__set_autoload(prog, wanted);
	}
	bpf_object__for_each_map(map, obj) {
		bool wanted = false;

		if (bpf_map__type(map) != BPF_MAP_TYPE_STRUCT_OPS)
			continue;
		for (int i = 2; i < argc; i++)
			wanted |= !strcmp(bpf_map__name(map), argv[i]);
		bpf_map__set_autocreate(map, wanted);
	}
	printf("%s\n", bpf_object__load(obj) ? "refused" : "loaded");
	fputs(log_text, stdout);
	return 0;
}
