// Programs with needs of all kinds.

struct in { int a, b; } P;
struct s {
	int n;
	unsigned bits : 3;
	struct in in;
	struct in list[4];
	struct { int deep; };
	union { long one; char other[8]; } either;
} P;
struct s___v2 { long renamed; } P;
enum color { RED, GREEN };
typedef struct { int counter; } atomic;
typedef int (*callback)(struct in *, enum color);
union u { int i; } P;

SEC("socket") int fields(struct s *s)
{
	out = byte_off(s->n) + byte_sz(s->in.b) + is_signed(s->n) + lshift(s->bits) + rshift(s->bits);
	out += byte_off(s->list[2].b) + byte_off(s->deep) + byte_off(s->either.other[3]);
	out += byte_off(((union u *)0)->i) + byte_off(((struct in *)0)[5].b);
	return field_exists(((struct s___v2 *)0)->renamed);
}

SEC("socket") int memory(struct s *s)
{
	s->in.a = 1;
	return s->n;
}

SEC("socket") int types(void *ctx)
{
	out = type_id_local(struct s) + type_id_target(struct s) + type_size(atomic);
	out += type_exists(callback) + type_exists(struct s___v2);
	return type_matches(struct in) + type_matches(enum color);
}

SEC("socket") int enums(void *ctx)
{
	if (enum_exists(enum color, GREEN))
		return enum_value(enum color, GREEN);
	return enum_value(enum color, RED);
}

struct { int a, b; } P *unnamed;
struct sample { int none[0]; int n; } P;
static __attribute__((noinline)) int in_text(struct sample *s) { return byte_off(s->none[1]); }
SEC("socket") int refused(struct sample *s)
{
	out = byte_off(((typeof(*unnamed) *)s)->b);
	return in_text(s);
}

#define ksym __attribute__((section(".ksyms")))
extern int kfunc(struct in *in) ksym;
extern void kfunc_weak(void) ksym __attribute__((weak));
extern const struct in variable ksym;
extern const void address ksym;
extern const void address_weak ksym __attribute__((weak));
extern int CONFIG_HZ __attribute__((section(".kconfig")));
extern int LINUX_OTHER __attribute__((section(".kconfig")));

SEC("?fentry.s/mod:target") int symbols(void *ctx)
{
	if (kfunc_weak)
		kfunc_weak();
	out = (unsigned long)&variable + (unsigned long)&address + (unsigned long)&address_weak;
	return kfunc(0) + CONFIG_HZ + LINUX_OTHER;
}

SEC("lsm/file_open") int lsm(void *ctx) { return 0; }
SEC("tp_btf/tick") int raw(void *ctx) { return 0; }
SEC("iter/task") int iter(void *ctx) { return 0; }
SEC("kprobe/f+0x10") int probe(void *ctx) { return 0; }
SEC("tp/sched/tick") int point(void *ctx) { return 0; }

struct some_ops___v1 { int (*begin)(struct in *), (*end)(void); void *unset; char name[8]; };
SEC("struct_ops/x") int begin(unsigned long long *ctx) { return 0; }
SEC("struct_ops.s") int end(unsigned long long *ctx) { return 0; }
SEC("?.struct_ops.link") struct some_ops___v1 ops = { .begin = (void *)begin, .name = "ops" };
SEC(".struct_ops") struct some_ops___v1 one = { .end = (void *)end }, none;

#define kptr(tag) __attribute__((btf_type_tag(tag)))
struct mine { int i; };
struct kept { int i; };
struct kept_too { int i; };
struct not_kept { int i; };
struct in_data { int i; };
struct value {
	struct kept kptr("kptr") *kept;
	struct mine kptr("kptr") *mine;
	struct { struct kept_too kptr("percpu_kptr") *list[2]; } in;
	struct not_kept kptr("rcu") *other;
	struct not_kept *plain;
};
struct { int (*type)[1], (*max_entries)[9], *key; struct value *value; } table SEC(".maps");
struct { int (*type)[14], (*max_entries)[9], *key; struct not_kept kptr("kptr") **value; } devices
	SEC(".maps");
__attribute__((visibility("hidden")))
struct in_data kptr("kptr_untrusted") *in_data SEC(".data.kptrs");
SEC("socket") int uses_map(void *ctx)
{
	out = type_id_local(struct mine);
	return ((int (*)(void *, void *))1)(&table, ctx) + ((int (*)(void *, void *))1)(&devices, ctx);
}
SEC("socket") int uses_data(void *ctx) { return in_data != 0; }

// No program calls it, but libbpf resolves its relocations.
int uncalled(struct s *s) { return byte_off(s->in); }
