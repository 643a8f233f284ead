#define __init __attribute__((used))
