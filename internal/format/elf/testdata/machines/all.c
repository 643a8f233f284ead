// The source of the objects in this directory: data, thread-local data, inlined
// and split code, so that every kind of relocation occurs in debug sections.
enum color { RED, GREEN = 1000 };
struct list { struct list *next, *prev; };
struct item {
	struct list link;
	unsigned int flags : 3, mode : 9;
	enum color color;
	const char *name;
	long values[4];
};

int counter = 3;
static long hidden = 7;
#if !defined(__riscv) && !defined(__loongarch__)
/* On these two machines, lld and GNU ld disagree on the address of a variable like this. */
__thread int per_thread = 5;
#endif
struct item first = { { &first.link, &first.link }, 1, 2, RED, "first", { 1, 2, 3, 4 } };
extern int elsewhere(struct item *, long);

static inline __attribute__((always_inline)) long sum(struct item *it, long start)
{
	for (int i = 0; i < 4; i++) {
		long v = it->values[i] ^ start;
		if (v & 1)
			start += elsewhere(it, v);
	}
	return start;
}

__attribute__((section(".text.second"))) long second(struct item *it)
{
	hidden += sum(it, counter);
	if (it->flags)
		return sum(it, hidden) + sum(&first, 1);
	return hidden;
}

long entry(struct item *it, int n)
{
	long total = 0;
	for (; n > 0; n--)
		total += sum(it, n) + second(it);
	return total;
}

#if defined(__riscv) || defined(__loongarch__)
/* Differences across code that the linker may shorten, in all field sizes. */
#ifdef __riscv
#define CALL "call elsewhere"
#define FIRST6 "R_RISCV_SET6"
#define SECOND6 "R_RISCV_SUB6"
#else
#define CALL "call36 elsewhere"
#define FIRST6 "R_LARCH_ADD6"
#define SECOND6 "R_LARCH_SUB6"
#endif
asm(".section .text.third,\"ax\",@progbits\n"
    "third: .rept 5\n" CALL "\n.endr\n"
    "third_part: .rept 60\n" CALL "\n.endr\n"
    "third_end: .section .debug_differences,\"\",@progbits\n"
    ".uleb128 third_part - third\n"
    ".uleb128 third_end - third\n"
    ".uleb128 third_end - third_part + 100000\n"
    ".byte 0x40\n"
    ".reloc .-1, " FIRST6 ", third_part\n"
    ".reloc .-1, " SECOND6 ", third\n"
    ".byte third_part - third\n"
    ".2byte third_end - third\n"
    ".4byte third_end - third\n"
    ".8byte third_end - third\n");
#endif
