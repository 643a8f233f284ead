// Puts raw BTF files one after the other and deduplicates them by libbpf; or split BTF on a base:
//
//	libbpf_dedup OUT.btf IN.btf…
//	libbpf_dedup OUT.btf --base BASE.btf SPLIT.btf
//
// The prototypes are those of libbpf's bpf/btf.h, so that the library alone is needed to build this.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct btf;
struct btf *btf__new_empty(void);
struct btf *btf__parse_raw(const char *path);
struct btf *btf__parse_raw_split(const char *path, struct btf *base);
int btf__add_btf(struct btf *btf, const struct btf *src);
int btf__dedup(struct btf *btf, const void *opts);
const void *btf__raw_data(const struct btf *btf, unsigned *size);
void btf__free(struct btf *btf);
long libbpf_get_error(const void *ptr);

static void check(const char *what, long err)
{
	if (err < 0) {
		fprintf(stderr, "%s: %s\n", what, strerror(-err));
		exit(1);
	}
}

int main(int argc, char **argv)
{
	struct btf *all;
	int i = 2;
	if (argc == 5 && !strcmp(argv[i], "--base")) {
		struct btf *base = btf__parse_raw(argv[3]);
		check(argv[3], libbpf_get_error(base));
		all = btf__parse_raw_split(argv[4], base);
		check(argv[4], libbpf_get_error(all));
		i = argc;
	} else {
		all = btf__new_empty();
	}
	for (; i < argc; i++) {
		struct btf *in = btf__parse_raw(argv[i]);
		check(argv[i], libbpf_get_error(in));
		check(argv[i], btf__add_btf(all, in));
		btf__free(in);
	}
	check("btf__dedup", btf__dedup(all, NULL));
	unsigned size;
	const void *data = btf__raw_data(all, &size);
	FILE *out = fopen(argv[1], "wb");
	if (!data || !out || fwrite(data, 1, size, out) != size || fclose(out)) {
		perror(argv[1]);
		return 1;
	}
	return 0;
}
