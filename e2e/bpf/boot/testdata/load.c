/*
 * Loads BPF programs with libbpf. Usage: load OBJECT [BTF]
 * BTF is the file to use for CO-RE relocations; by default, libbpf finds the kernel's BTF. Each
 * program is loaded separately. For each program, a line is printed: the program's name, then the
 * instructions that the kernel has after verification, in hexadecimal. If the program can't be
 * loaded, "!" and libbpf's warnings follow the name.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char warnings[1 << 16];

static int collect(enum libbpf_print_level level, const char *format, va_list args)
{
	size_t used = strlen(warnings);

	if (level == LIBBPF_WARN)
		vsnprintf(warnings + used, sizeof(warnings) - used, format, args);
	return 0;
}

static void print_insns(int fd)
{
	static unsigned char insns[1 << 16];
	struct bpf_prog_info info = {
		.xlated_prog_len = sizeof(insns),
		.xlated_prog_insns = (unsigned long)insns,
	};
	__u32 size = sizeof(info);

	if (bpf_prog_get_info_by_fd(fd, &info, &size) || !info.xlated_prog_insns) {
		printf("! the kernel doesn't show the instructions: %s", strerror(errno));
		return;
	}
	for (__u32 i = 0; i < info.xlated_prog_len; i++)
		printf("%02x", insns[i]);
}

/* Loads the program with the given number. Returns 0 if the object has no such program. */
static int load(const char *path, const char *btf, int number)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = btf);
	struct bpf_object *object = bpf_object__open_file(path, &options);
	struct bpf_program *program, *chosen = NULL;
	int i = 0;

	if (!object) {
		printf("%s ! %s\n", path, strerror(errno));
		return 0;
	}
	bpf_object__for_each_program(program, object) {
		bpf_program__set_autoload(program, i == number);
		if (i++ == number)
			chosen = program;
	}
	if (chosen) {
		*warnings = 0;
		printf("%s ", bpf_program__name(chosen));
		if (bpf_object__load(object)) {
			for (char *c = warnings; *c; c++)
				if (*c == '\n')
					*c = ';';
			printf("! %s", warnings);
		} else {
			print_insns(bpf_program__fd(chosen));
		}
		printf("\n");
	}
	bpf_object__close(object);
	return chosen != NULL;
}

int main(int argc, char **argv)
{
	libbpf_set_print(collect);
	for (int i = 0; load(argv[1], argc > 2 ? argv[2] : NULL, i); i++)
		;
	return 0;
}
