// Calls libbpf's btf__relocate. Each line of standard input names four files:
//
//	DISTILLED_BASE SPLIT BASE OUT
//
// All but OUT are raw BTF. OUT is SPLIT as it is on BASE, or missing if libbpf refuses that.
//
// The prototypes are those of libbpf's bpf/btf.h, so that the library alone is needed to build this.
#include <stdio.h>
#include <stdlib.h>

struct btf;
struct btf *btf__parse_raw(const char *path);
struct btf *btf__parse_raw_split(const char *path, struct btf *base);
int btf__relocate(struct btf *btf, const struct btf *base);
const void *btf__raw_data(const struct btf *btf, unsigned *size);
void btf__free(struct btf *btf);

static void check(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(1);
	}
}

int main(void)
{
	char path[4][1024];

	while (scanf("%1023s %1023s %1023s %1023s", path[0], path[1], path[2], path[3]) == 4) {
		struct btf *distilled = btf__parse_raw(path[0]);
		struct btf *split = distilled ? btf__parse_raw_split(path[1], distilled) : NULL;
		struct btf *base = btf__parse_raw(path[2]);

		check(distilled && split && base, path[3]);
		if (!btf__relocate(split, base)) {
			unsigned size;
			const void *data = btf__raw_data(split, &size);
			FILE *f = fopen(path[3], "w");

			check(data && f && fwrite(data, 1, size, f) == size && !fclose(f), path[3]);
		}
		btf__free(split);
		btf__free(base);
		btf__free(distilled);
	}
	return 0;
}
