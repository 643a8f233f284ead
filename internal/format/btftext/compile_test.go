package btftext_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

const source = `
typedef unsigned int u32;
typedef struct { int counter; } atomic_t;
struct device;
enum state { IDLE, BUSY = 5, FAILED = -1 };
struct packet {
	struct packet *next;
	union {
		struct { u32 low, high; };
		const char *name;
		struct { char kind; } parts[2];
	};
	unsigned char urgent : 1, kind : 3;
	atomic_t users;
	enum state state;
	int (*send)(struct device *dev, struct packet *, ...);
	void (*(*handlers[2])(int))(void);
	struct { u32 high; } *volatile const more;
	int __attribute__((btf_type_tag("user"))) *grid[2][3] __attribute__((btf_decl_tag("kabi")));
	char data[];
};
int netif_rx(struct packet *skb, enum state) { return skb->urgent; }
`

// compile returns the BTF that clang writes for a source.
func compile(t *testing.T, source string) *btf.Blob {
	dir := programtest.NewDir(t)
	dir.Write("unit.c", source)
	dir.Run("clang", "-target", "bpf", "-O1", "-g", "-c", "unit.c", "-o", "unit.o")
	b, err := btf.ReadOne(dir.Path("unit.o"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCompiled(t *testing.T) {
	text := string(checkLossless(t, compile(t, source)))
	if text != compiled {
		t.Errorf("the text is\n%s", text)
	}
}

const compiled = `# BTF as text, version 1, 64-bit, little-endian
index __ARRAY_SIZE_TYPE__;
func int netif_rx(struct packet *skb, enum state);
struct device;
struct packet 112 {
  0      struct packet *next;
  8      union 8 {
  8        struct 8 {
  8          u32 low;
  12         u32 high;
           };
  8        const char *name;
  8        struct 1 {
  8          char kind;
           } parts[2];
         };
  16.0   unsigned char urgent : 1;
  16.1   unsigned char kind : 3;
  20     atomic_t users;
  24     enum state state;
  32     int (*send)(struct device *, struct packet *, ...);
  40     void (*(*handlers[2])(int))(void);
  56     struct 4 {
  0        u32 high;
         } *volatile const more;
  64     type_tag(user) int *grid[2][3] decl_tag(kabi);
  112    char data[0];
};
enum state 4 signed {
  IDLE = 0,
  BUSY = 5,
  FAILED = -1,
};
typedef struct 4 {
  0      int counter;
} atomic_t;
typedef unsigned int u32;
int __ARRAY_SIZE_TYPE__ 4;
int 'char' 1 signed;
int 'int' 4 signed;
int 'unsigned char' 1;
int 'unsigned int' 4;
end 11;
`

// TestEdits checks that a small change in the source is a small change in the text.
func TestEdits(t *testing.T) {
	before := strings.Split(compiled, "\n")
	for _, edit := range []struct{ old, new, removed, added string }{
		{"atomic_t users", "atomic_t refs", "atomic_t users", "atomic_t refs"},
		{"const char *name", "char *name", "const char *name", "char *name"},
		{"BUSY = 5", "BUSY = 6", "BUSY = 5", "BUSY = 6"},
		{"kind : 3", "kind : 4", "kind : 3", "kind : 4"},
		{"u32 low, high", "u32 low, top", "u32 high", "u32 top"},
		{"enum state)", "int)", "func int netif_rx", "func int netif_rx"},
	} {
		edited := compile(t, strings.Replace(source, edit.old, edit.new, 1))
		after := strings.Split(string(write(t, edited)), "\n")
		removed := slices.DeleteFunc(slices.Clone(before), func(line string) bool {
			return slices.Contains(after, line)
		})
		added := slices.DeleteFunc(after, func(line string) bool {
			return slices.Contains(before, line)
		})
		if len(removed) != 1 || !strings.Contains(removed[0], edit.removed) || len(added) != 1 ||
			!strings.Contains(added[0], edit.added) {
			t.Errorf("%s -> %s:\n-%s\n+%s", edit.old, edit.new, strings.Join(removed, "\n-"),
				strings.Join(added, "\n+"))
		}
	}
}
