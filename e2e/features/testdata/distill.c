/* Calls libbpf's functions for distilled bases, and writes the results.
 *
 *	distill BASE SPLIT NEW_BASE NEW_SPLIT     btf__distill_base
 *	distill -r NEW_BASE NEW_SPLIT BASE SPLIT  btf__relocate: SPLIT is what NEW_SPLIT becomes on BASE
 */
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int failed, const char *what)
{
	if (failed) {
		fprintf(stderr, "%s: %s\n", what, strerror(errno));
		exit(1);
	}
}

static struct btf *parse(const char *path, struct btf *base)
{
	struct btf *b = base ? btf__parse_raw_split(path, base) : btf__parse_raw(path);

	check(!b, path);
	return b;
}

static void save(const char *path, struct btf *b)
{
	__u32 size;
	const void *data = btf__raw_data(b, &size);
	FILE *f = fopen(path, "w");

	check(!data || !f || fwrite(data, 1, size, f) != size || fclose(f), path);
}

int main(int argc, char **argv)
{
	struct btf *base, *split, *new_base, *new_split;

	if (argc == 6 && !strcmp(argv[1], "-r")) {
		new_base = parse(argv[2], NULL);
		new_split = parse(argv[3], new_base);
		base = parse(argv[4], NULL);
		check(btf__relocate(new_split, base), "btf__relocate");
		save(argv[5], new_split);
		return 0;
	}
	if (argc != 5)
		return 2;
	base = parse(argv[1], NULL);
	split = parse(argv[2], base);
	check(btf__distill_base(split, &new_base, &new_split), "btf__distill_base");
	save(argv[3], new_base);
	save(argv[4], new_split);
	return 0;
}
