#ifndef SMALL_TYPES_H
#define SMALL_TYPES_H

typedef unsigned int u32;

#define noinline __attribute__((noinline, used))

#endif
