package btftext_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
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
	int __attribute__((btf_type_tag("user"))) *grid[2][3];
	char data[];
};
int netif_rx(struct packet *skb, enum state) { return skb->urgent; }
`

// compile returns the BTF that clang writes for a source.
func compile(t *testing.T, source string) *btf.Blob {
	t.Helper()
	object := programtest.Compile(t, source, "clang", "-target", "bpf", "-O1", "-g", "-c")
	b := must.Get(btf.ReadOne(object, nil))(t)
	return b
}

func TestCompiled(t *testing.T) {
	text := string(checkLossless(t, compile(t, source)))
	if text != compiled {
		t.Errorf("the text is\n%s", text)
	}
}

const compiled = `{"kabi_reference":2,
"count":11,"sum":"09002de4","types":[
{"kind":"func","name":"netif_rx","sum":"f32fb0eb","result":{"type":"int"},"params":[
  {"name":"skb","type":"*struct packet"},
  {"type":"enum state"}
]},
{"kind":"struct","name":"device","sum":"3eecf29f","declared":true},
{"kind":"struct","name":"packet","sum":"0d3a6667","size":112,"members":[
  {"at":0,"name":"next","type":"*struct packet"},
  {"at":8,"type":"union","size":8,"members":[
    {"at":0,"type":"struct","size":8,"members":[
      {"at":0,"name":"low","type":"u32"},
      {"at":4,"name":"high","type":"u32"}
    ]},
    {"at":0,"name":"name","type":"*const char"},
    {"at":0,"name":"parts","type":"[2]struct","size":1,"members":[
      {"at":0,"name":"kind","type":"char"}
    ]}
  ]},
  {"at":16,"bits":1,"name":"urgent","type":"unsigned char"},
  {"at":16,"bit":1,"bits":3,"name":"kind","type":"unsigned char"},
  {"at":20,"name":"users","type":"atomic_t"},
  {"at":24,"name":"state","type":"enum state"},
  {"at":32,"name":"send","type":"*func","result":{"type":"int"},"params":[
    {"type":"*struct device"},
    {"type":"*struct packet"},
    {"type":"..."}
  ]},
  {"at":40,"name":"handlers","type":"[2]*func","result":{"type":"*func"},"params":[
    {"type":"int"}
  ]},
  {"at":56,"name":"more","type":"const volatile *struct","size":4,"members":[
    {"at":0,"name":"high","type":"u32"}
  ]},
  {"at":64,"name":"grid","type":"[2][3]*type_tag(user) int"},
  {"at":112,"name":"data","type":"[0]char"}
]},
{"kind":"enum","name":"state","sum":"36b05049","size":4,"signed":true,"values":[
  {"name":"IDLE","value":0},
  {"name":"BUSY","value":5},
  {"name":"FAILED","value":-1}
]},
{"kind":"typedef","name":"atomic_t","sum":"247e91b0","type":"struct","size":4,"members":[
  {"at":0,"name":"counter","type":"int"}
]},
{"kind":"typedef","name":"u32","sum":"4254f9a6","type":"unsigned int"},
{"kind":"int","name":"__ARRAY_SIZE_TYPE__","sum":"5c52c98f","bits":32,"size":4},
{"kind":"int","name":"char","sum":"9a5db9fe","bits":8,"size":1,"signed":true},
{"kind":"int","name":"int","sum":"88ceb7f9","bits":32,"size":4,"signed":true},
{"kind":"int","name":"unsigned char","sum":"b28539fc","bits":8,"size":1},
{"kind":"int","name":"unsigned int","sum":"b213680c","bits":32,"size":4}
]}
`

// TestEdits checks that a small change in the source is a small change in the reference: the first
// line of the type, which has the sum, and one more line.
func TestEdits(t *testing.T) {
	before := strings.Split(compiled, "\n")
	for _, edit := range []struct{ old, new, removed, added string }{
		{"atomic_t users", "atomic_t refs", `"name":"users"`, `"name":"refs"`},
		{"const char *name", "char *name", `"*const char"`, `"*char"`},
		{"BUSY = 5", "BUSY = 6", `"value":5`, `"value":6`},
		{"kind : 3", "kind : 4", `"bits":3`, `"bits":4`},
		{"u32 low, high", "u32 low, top", `"name":"high"`, `"name":"top"`},
		{"enum state)", "int)", `{"type":"enum state"}`, `{"type":"int"}`},
		{"state state;", "state state, other;", "", `"name":"other"`},
	} {
		edited := compile(t, strings.Replace(source, edit.old, edit.new, 1))
		after := strings.Split(string(write(t, edited)), "\n")
		without := func(list, other []string) (rest []string) {
			for _, line := range list {
				if !slices.Contains(other, line) && !strings.Contains(line, `"sum":`) {
					rest = append(rest, line)
				}
			}
			return rest
		}
		removed, added := without(before, after), without(after, before)
		if len(removed) > 1 || !strings.Contains(strings.Join(removed, ""), edit.removed) ||
			len(added) != 1 || !strings.Contains(added[0], edit.added) {
			t.Errorf("%s -> %s:\n-%s\n+%s", edit.old, edit.new, strings.Join(removed, "\n-"),
				strings.Join(added, "\n+"))
		}
	}
}
