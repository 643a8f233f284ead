package execlog_test

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rules-btf/rules_btf/internal/repro/execlog"
	"github.com/rules-btf/rules_btf/internal/repro/execlog/execlogtest"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// none is a message without fields.
var none execlogtest.Message

func sample() *execlogtest.Builder {
	b := execlogtest.New()
	tool := b.Set(b.File("tool", "x"))
	in := b.File("a.c", "int a;")
	inner := b.Set(in, b.Directory("dir", "z", "1", "y", "2"))
	run := b.Runfiles("tool.runfiles", b.Set(b.File("lib.sh", "lib")), map[string]uint32{"link": in})
	b.Symlink("a.c", "bazel-out/k8/bin/b.c")
	b.Spawn(execlogtest.Spawn{
		Label: "//:a", Mnemonic: "Compile", Args: []string{"tool", "-c", "a.c"},
		Env:      []execlog.Pair{{Name: "TZ", Value: "UTC"}, {Name: "PATH", Value: "/bin"}},
		Platform: []execlog.Pair{{Name: "os", Value: "linux"}},
		Inputs:   b.Union([]uint32{inner, tool}, in, run), Tools: tool, ExitCode: 1,
		Status: "NON_ZERO_EXIT", Runner: "remote cache hit", CacheHit: true,
		Digest: execlogtest.DigestOf("action"), TimeoutMillis: 5,
	}, b.File("bazel-out/k8/bin/a.o", "object"), "bazel-out/k8/bin/missing")
	return b
}

func TestRead(t *testing.T) {
	log := sample().Log(t)
	if log.Hash != "SHA-256" || len(log.Spawns) != 1 {
		t.Fatalf("hash %q, %d spawns", log.Hash, len(log.Spawns))
	}
	if len(log.Links) != 1 || log.Links["bazel-out/k8/bin/b.c"] != "a.c" {
		t.Errorf("links: %v", log.Links)
	}
	s := log.Spawns[0]
	var inputs []string
	for id := range execlog.NewWalker(log).All(s.Inputs) {
		a := log.Artifact(id)
		line := a.Path
		for _, f := range a.Files {
			line += " " + f.Name
		}
		inputs = append(inputs, line)
	}
	slices.Sort(inputs)
	// Each file is listed once, including those in runfiles; the files of a directory are sorted.
	files := []string{"a.c", "dir y z", "lib.sh", "link", "tool", "tool.runfiles/__init__.py"}
	if !slices.Equal(inputs, files) {
		t.Errorf("inputs %q, want %q", inputs, files)
	}
	want := execlog.Spawn{
		Label: "//:a", Mnemonic: "Compile",
		Args:     []string{"tool", "-c", "a.c"},
		Env:      []execlog.Pair{{Name: "PATH", Value: "/bin"}, {Name: "TZ", Value: "UTC"}},
		Platform: []execlog.Pair{{Name: "os", Value: "linux"}},
		Inputs:   s.Inputs, Tools: s.Tools, Timeout: 5,
		Outputs: []execlog.Output{{Path: "bazel-out/k8/bin/a.o", Artifact: s.Outputs[0].Artifact},
			{Path: "bazel-out/k8/bin/missing", Invalid: true}},
		ExitCode: 1, Status: "NON_ZERO_EXIT", CacheHit: true,
		Digest: execlogtest.DigestOf("action").String(), Runner: "remote cache hit",
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
}

// TestForms reads the same log with and without compression.
func TestForms(t *testing.T) {
	b := sample()
	plain, err := execlog.Read(bytes.NewReader(b.Plain()))
	must.OK(t, err)
	packed, err := execlog.Read(bytes.NewReader(b.Zstd(t)))
	if err != nil || !reflect.DeepEqual(plain, packed) {
		t.Errorf("%v\n%+v\n%+v", err, plain, packed)
	}
}

// TestBazel reads a log that Bazel wrote.
func TestBazel(t *testing.T) {
	log := must.Get(execlog.ReadFile("../testdata/planted_a.log"))(t)
	if log.Hash != "SHA-256" || len(log.Spawns) != 23 || len(log.Links) != 1 {
		t.Errorf("hash %s, %d spawns, %d links", log.Hash, len(log.Spawns), len(log.Links))
	}
}

// delimited returns messages, each preceded by its length.
func delimited(messages ...[]byte) []byte {
	var out []byte
	for _, m := range messages {
		out = protowire.AppendBytes(out, m)
	}
	return out
}

func TestErrors(t *testing.T) {
	packed := sample().Zstd(t)
	field := func(n protowire.Number, content []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), content)
	}
	// A directory of empty files: two bytes each.
	many := field(4, bytes.Repeat([]byte{0x12, 0}, 3<<20))
	entry := func(id uint32, kind protowire.Number, content execlogtest.Message) []byte {
		b := execlogtest.New()
		b.Entry(id, kind, content)
		return b.Plain()
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "empty file, expected an execution log"},
		{"JSON", []byte("{\"a\": 1}"), "--execution_log_compact_file"},
		{"text", []byte("hello, this is no log"), "entry at byte 0"},
		{"cut", packed[:len(packed)-20], "the build is still running or was killed"},
		{"cut in a length", []byte{0x80}, "ends in the middle"},
		{"zstd cut at once", packed[:5], "ends in the middle"},
		{"zstd damaged", append(packed[:20:20], bytes.Repeat([]byte{0xff}, 40)...), "entry at byte 0"},
		{"large entry", protowire.AppendVarint(nil, 1<<40), "it has 1099511627776 bytes"},
		{"large entry that isn't there", protowire.AppendVarint(nil, 60<<20), "ends in the middle"},
		{"many entries", make([]byte, 9<<20), "more than 8388608 entries"},
		{"cut field", delimited([]byte{0x3a, 0x7f, 1}), "not a message"},
		{"many fields", delimited(many), "more than 2097152 fields"},
		{"unknown reference", entry(0, 7, none.Number(4, 7)),
			"entry 7, which doesn't come before it"},
		{"set in itself", entry(1, 6, none.IDs(4, 1)), "entry 1, which doesn't come before it"},
		{"no path", entry(0, 3, none), "a file has no path"},
		{"output without file", entry(0, 7, none.Message(6, nil)),
			"an output has neither a file nor a path"},
		{"path that isn't text", entry(0, 3, none.Text(1, "\xff")), "not a message"},
		{"cut list", entry(0, 6, none.Text(4, "\xff")), "not a message"},
	} {
		_, err := execlog.Read(bytes.NewReader(c.data))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want a line with %q", c.name, err, c.want)
		}
	}
	b := sample()
	b.Entry(1, 3, none.Text(1, "again"))
	if _, err := execlog.Read(bytes.NewReader(b.Plain())); err == nil ||
		!strings.Contains(err.Error(), "an earlier entry has the same id 1") {
		t.Errorf("two entries with one id: %v", err)
	}
	b = sample()
	b.Entry(0, 7, none.Number(4, 2+1))
	if _, err := execlog.Read(bytes.NewReader(b.Plain())); err == nil ||
		!strings.Contains(err.Error(), "which isn't a set") {
		t.Errorf("a file for a set: %v", err)
	}
}

// TestDeepSets walks a chain of sets that is deeper than a stack should be, and a chain in which
// 2^12500 paths lead to one file.
func TestDeepSets(t *testing.T) {
	for _, width := range []int{1, 2} {
		b := execlogtest.New()
		set := b.Set(b.File("f", "f"))
		for range 100000 / (width * width * width) {
			set = b.Union(slices.Repeat([]uint32{set}, width))
		}
		b.Spawn(execlogtest.Spawn{Inputs: set})
		log := b.Log(t)
		n := 0
		for range execlog.NewWalker(log).All(log.Spawns[0].Inputs) {
			n++
		}
		if n != 1 {
			t.Errorf("%d files, want 1", n)
		}
	}
}

func FuzzRead(f *testing.F) {
	b := sample()
	f.Add(b.Zstd(f))
	f.Add(b.Plain())
	f.Add([]byte{})
	for _, name := range []string{"planted_b", "mapped_a"} {
		data := must.Get(os.ReadFile("../testdata/" + name + ".log"))(f)
		f.Add(data)
		z := must.Get(zstd.NewReader(bytes.NewReader(data)))(f)
		var plain bytes.Buffer
		must.Get(plain.ReadFrom(z))(f)
		f.Add(plain.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		log, err := execlog.Read(bytes.NewReader(data))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("not one line: %v", err)
			}
			return
		}
		w := execlog.NewWalker(log)
		for i := range log.Spawns {
			for id := range w.All(log.Spawns[i].Inputs) {
				_ = fmt.Sprint(log.Artifact(id).Path)
			}
		}
	})
}
