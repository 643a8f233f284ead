// Asks libbpf what CO-RE relocations mean: ask separate|pruned LOCAL VMLINUX [MODULE]…, where the
// files are raw BTF. Each record of standard input is a struct bpf_core_relo and two instructions.
// Each line of output has three words: what bpf_core_calc_relo_insn says, what becomes of the
// instruction, and this instruction in hexadecimal.
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// From libbpf's relo_core.h and libbpf_internal.h.
struct bpf_core_cand {
	const struct btf *btf;
	__u32 id;
};
struct bpf_core_cand_list {
	struct bpf_core_cand *cands;
	int len;
};
struct bpf_core_accessor {
	__u32 type_id;
	__u32 idx;
	const char *name;
};
struct bpf_core_spec {
	const struct btf *btf;
	struct bpf_core_accessor spec[64];
	__u32 root_type_id;
	enum bpf_core_relo_kind relo_kind;
	int len;
	int raw_spec[64];
	int raw_len;
	__u32 bit_offset;
};
struct bpf_core_relo_res {
	__u64 orig_val;
	__u64 new_val;
	bool poison;
	bool validate;
	bool fail_memsz_adjust;
	__u32 orig_sz;
	__u32 orig_type_id;
	__u32 new_sz;
	__u32 new_type_id;
};
size_t bpf_core_essential_name_len(const char *name);
int bpf_core_add_cands(struct bpf_core_cand *local_cand, size_t local_essent_len,
		       const struct btf *targ_btf, const char *targ_btf_name, int targ_start_id,
		       struct bpf_core_cand_list *cands);
int bpf_core_calc_relo_insn(const char *prog_name, const struct bpf_core_relo *relo, int relo_idx,
			    const struct btf *local_btf, struct bpf_core_cand_list *cands,
			    struct bpf_core_spec *specs_scratch,
			    struct bpf_core_relo_res *targ_res);
int bpf_core_patch_insn(const char *prog_name, struct bpf_insn *insn, int insn_idx,
			const struct bpf_core_relo *relo, int relo_idx,
			const struct bpf_core_relo_res *res);

static struct btf *local, *kernel[64];
static int blobs;

static struct btf *parse(const char *path, struct btf *base)
{
	struct btf *b = base ? btf__parse_raw_split(path, base) : btf__parse_raw(path);

	if (!b) {
		perror(path);
		exit(1);
	}
	return b;
}

// As bpf_core_find_cands.
static void find(__u32 id, struct bpf_core_cand_list *list)
{
	struct bpf_core_cand own = { local, id };
	const char *name = btf__name_by_offset(local, btf__type_by_id(local, id)->name_off);
	size_t len = bpf_core_essential_name_len(name);
	int i;

	bpf_core_add_cands(&own, len, kernel[0], "vmlinux", 1, list);
	for (i = 1; i < blobs && (list->len == 0 || list->cands[0].btf != kernel[0]); i++)
		bpf_core_add_cands(&own, len, kernel[i], "module", btf__type_cnt(kernel[0]), list);
}

int main(int argc, char **argv)
{
	struct { struct bpf_core_relo relo; struct bpf_insn insn[2]; } r;
	struct bpf_core_cand_list *lists;
	bool pruned = !strcmp(argv[1], "pruned");

	libbpf_set_print(NULL);
	local = parse(argv[2], NULL);
	btf__set_pointer_size(local, 8);
	for (int i = 3; i < argc; i++)
		kernel[blobs++] = parse(argv[i], kernel[0]);
	lists = calloc(btf__type_cnt(local), sizeof(*lists));
	while (fread(&r, sizeof(r), 1, stdin) == 1) {
		static struct bpf_core_spec specs[3];
		struct bpf_core_relo_res res = {};
		struct bpf_core_cand_list *all = &lists[r.relo.type_id], copy = {};
		int err;

		if (r.relo.kind != BPF_CORE_TYPE_ID_LOCAL && !all->cands)
			find(r.relo.type_id, all);
		copy.len = all->len;
		copy.cands = memcpy(malloc(all->len * sizeof(*all->cands) + 1), all->cands,
				    all->len * sizeof(*all->cands));
		err = bpf_core_calc_relo_insn("p", &r.relo, 0, local, pruned ? all : &copy, specs,
					      &res);
		free(copy.cands);
		if (err) {
			printf("refused refused refused\n");
			continue;
		}
		if (res.poison)
			printf("poison ");
		else
			printf("%llu ", res.new_val);
		err = bpf_core_patch_insn("p", r.insn, 0, &r.relo, 0, &res);
		if (err) {
			printf("refused refused\n");
			continue;
		}
		if (r.insn[0].code == (BPF_JMP | BPF_CALL))
			printf("poison ");
		else
			printf("%llu ", res.new_val);
		for (size_t i = 0; i < sizeof(r.insn[0]); i++)
			printf("%02x", ((unsigned char *)r.insn)[i]);
		printf("\n");
	}
	return 0;
}
