// attributes: pointers into a BPF arena, as the flags of kfuncs say (KF_ARENA_RET, KF_ARENA_ARG1, KF_ARENA_ARG2), have a type tag with the
// kind flag. What is no pointer stays as it is, and a pointer that is used elsewhere too.
// features: default,attributes
struct arena { int used; };
typedef void *handle;
void *arena_alloc(struct arena *a, void *at, int pages) { return at; }
void arena_free(struct arena *a, void *p) { }
struct arena *arena_self(struct arena *a) { return a; }
int count_pages(struct arena *a, long n) { return a->used + n; }
const char *const *name_in(const char *const *p, handle h) { return p; }
int plain(void *p) { return !p; }
asm(".pushsection .BTF_ids,\"a\"\n"
    ".local __BTF_ID__set8__arena; __BTF_ID__set8__arena: .zero 4; .long 1\n"
#define KFUNC(name, number, flags) \
    ".local __BTF_ID__func__" #name "__" #number "; .type __BTF_ID__func__" #name "__" #number ", STT_OBJECT\n" \
    ".size __BTF_ID__func__" #name "__" #number ", 4; __BTF_ID__func__" #name "__" #number ": .zero 4; .long " #flags "\n"
    KFUNC(arena_alloc, 1, 0xa000)
    KFUNC(arena_free, 2, 0x8000)
    KFUNC(arena_self, 3, 0x7000)
    KFUNC(count_pages, 4, 0x4000)
    KFUNC(name_in, 5, 0x6000)
    KFUNC(plain, 6, 0)
    ".size __BTF_ID__set8__arena, .-__BTF_ID__set8__arena\n"
    ".popsection");
/* BTF:
const char *const *[[address_space(1)]] name_in(const char *const *[[address_space(1)]] p, handle h) [bpf_kfunc];
int count_pages(struct arena *[[address_space(1)]] a, long int n) [bpf_kfunc];
int plain(void *p) [bpf_kfunc];
struct arena *[[address_space(1)]] arena_self(struct arena *[[address_space(1)]] a) [bpf_fastcall] [bpf_kfunc];
struct arena { int used @0; } 4
typedef void *handle;
void *[[address_space(1)]] arena_alloc(struct arena *a, void *[[address_space(1)]] at, int pages) [bpf_kfunc];
void arena_free(struct arena *a, void *[[address_space(1)]] p) [bpf_kfunc];
*/
