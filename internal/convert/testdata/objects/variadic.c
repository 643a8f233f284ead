/*
 * clang inlines log_line where it doesn't reach its list of arguments. The abstract instance has no
 * "..." then; only the code's entry has.
 */
typedef __builtin_va_list va_list;

int print(const char *format, va_list list);
int lines;

static void log_line(int level, const char *format, ...)
{
	va_list list;

	lines += level;
	if (!format)
		return;
	__builtin_va_start(list, format);
	print(format, list);
	__builtin_va_end(list);
}

void quiet(int level)
{
	log_line(level, 0);
}

void loud(int level)
{
	log_line(level, "%d", level);
	log_line(1, "%d", level);
}
