package stability

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// original has the source files before an edit. The keys are their names.
var original = map[string]string{
	"types.h": `#ifndef TYPES_H
#define TYPES_H
typedef unsigned int u32;
typedef unsigned long u64;
enum color { RED, GREEN = 5, BLUE };
struct node;
struct pair { u32 first; u64 second; };
#endif
`,
	"list.h": `#ifndef LIST_H
#define LIST_H
struct node;
struct list { struct node *head, *tail; unsigned long length; };
typedef int (*visit_fn)(struct node *n, void *data);
#endif
`,
	"walk.c": `#include "types.h"
#include "list.h"
struct node {
	struct node *next;
	struct pair value;
	enum color color : 3;
	union { u32 word; unsigned char bytes[4]; };
};
extern int report(const char *message, u64 value);
static int registered;
struct list all_nodes;
static __attribute__((noinline)) int visit(struct node *n, visit_fn fn, void *data)
{
	return fn ? fn(n, data) : registered;
}
int walk(struct list *list, visit_fn fn, void *data)
{
	int sum = 0;
	for (struct node *n = list->head; n; n = n->next)
		sum += visit(n, fn, data);
	return sum;
}
int forget(void)
{
	registered++;
	return report("forget", all_nodes.length);
}
`,
}

// edits are edits of the original files. If the field same is true, the edit must not change the
// BTF object; otherwise, it must.
var edits = []struct {
	name  string
	same  bool
	apply func(files map[string]string)
}{
	{"nothing", true, func(map[string]string) {}},
	{"a comment", true, replace("walk.c", "int sum = 0;", "int sum = 0; /* what all visits gave */")},
	{"line numbers", true, func(f map[string]string) {
		f["walk.c"] = strings.Repeat("\n", 40) + f["walk.c"]
		f["types.h"] = strings.Replace(f["types.h"], "typedef", "\n\n\ntypedef", 1)
	}},
	{"new locals", true, replace("walk.c", "int sum = 0;",
		"int sum = 0; volatile char debug[37] = {1}; void ***triple = data; "+
			"const u64 *q = data; sum += debug[3] + (triple == data) + (q == 0);")},
	{"a new call", true, replace("walk.c", "return sum;", `return sum + report("sum", sum);`)},
	{"a longer body", true,
		replace("walk.c", "registered++;",
			"for (int i = 0; i < 10; i++) { registered += i; "+
				"if (registered > 100) registered = report(\"many\", registered); }")},
	{"another string", true, replace("walk.c", `"forget"`, `"forget all about it"`)},
	{"includes swapped", true, replace("walk.c", "#include \"types.h\"\n#include \"list.h\"",
		"#include \"list.h\"\n#include \"types.h\"")},
	{"functions swapped", true, func(f map[string]string) {
		const mark = "int forget(void)"
		text := f["walk.c"]
		i, j := strings.Index(text, "int walk("), strings.Index(text, mark)
		f["walk.c"] = text[:i] + text[j:] + text[i:j]
	}},
	{"types moved to another header", true, func(f map[string]string) {
		const def = "struct pair { u32 first; u64 second; };\n"
		f["types.h"] = strings.Replace(f["types.h"], def, "#include \"pair.h\"\n", 1)
		f["pair.h"] = def
	}},
	{"an unused prototype", true, replace("walk.c", "extern int report",
		"extern u64 unused(struct list *);\nextern int report")},

	// Controls: an edit that changes a type must change the object.
	{"control: a member added", false, replace("types.h", "u64 second;", "u64 second; u32 third;")},
	{"control: a member renamed", false, replace("types.h", "u64 second;", "u64 other;")},
	{"control: an enumerator's value", false, replace("types.h", "GREEN = 5", "GREEN = 6")},
	{"control: a bit-field's width", false, replace("walk.c", "color : 3", "color : 4")},
	{"control: a parameter renamed", false,
		replace("walk.c", "int walk(struct list *list, visit_fn fn, void *data)\n{",
			"int walk(struct list *list, visit_fn fn, void *context)\n{ void *data = context;")},
	{"control: a function added", false, replace("walk.c", "int forget(void)",
		"int remember(u32 n) { return report(\"remember\", n); }\nint forget(void)")},
	{"control: a parameter's type", false, replace("list.h", "struct node *n, void *data",
		"struct node *n, const void *data")},
}

func replace(file, old, new string) func(map[string]string) {
	return func(f map[string]string) {
		if !strings.Contains(f[file], old) {
			panic(file + " has no " + old)
		}
		f[file] = strings.Replace(f[file], old, new, 1)
	}
}

func TestEditOfSource(t *testing.T) {
	harness.Need(t, "gcc")
	for _, options := range [][]string{{"-g", "-O2"}, {"-g", "-O0"}, {"-gdwarf-4", "-O2"}} {
		t.Run(strings.Join(options, ""), func(t *testing.T) {
			before := objectOf(t, original, options)
			for _, e := range edits {
				t.Run(e.name, func(t *testing.T) {
					files := map[string]string{}
					for k, v := range original {
						files[k] = v
					}
					e.apply(files)
					// Each edit is compiled in its own directory, so paths change too.
					after := objectOf(t, files, options)
					if same := bytes.Equal(before, after); same != e.same {
						t.Errorf("the BTF object is the same: %t, want %t", same, e.same)
					}
				})
			}
		})
	}
}

// objectOf compiles walk.c, and returns the BTF object made from it.
func objectOf(t *testing.T, files map[string]string, options []string) []byte {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		harness.WriteFile(t, filepath.Join(dir, name), text)
	}
	harness.MustRun(t, dir, append([]string{"gcc", "-c", "walk.c", "-o", "walk.o"}, options...)...)
	harness.MustRun(t, dir, harness.Tool(t, "btfgen"), "object", "-o", "walk.btfo", "walk.o")
	return harness.ReadFile(t, filepath.Join(dir, "walk.btfo"))
}
