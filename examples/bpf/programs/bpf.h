/* These definitions replace libbpf's headers, so that the example doesn't need libbpf. */
#define SEC(name) __attribute__((section(name), used))

/* When a program is loaded, accesses to fields of such types are adapted to the kernel. */
#define CORE __attribute__((preserve_access_index))

#define FIELD_EXISTS 2
#define field_exists(field) __builtin_preserve_field_info(field, FIELD_EXISTS)

typedef unsigned int u32;
typedef unsigned long long u64;

static u64 (*const get_current_task)(void) = (void *)35;
static long (*const probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;

#define read(to, field) probe_read_kernel(to, sizeof(*(to)), &(field))

char _license[] SEC("license") = "GPL";
