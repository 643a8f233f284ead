package object

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestMergeFiles merges BTF objects and raw BTF with several numbers of threads.
func TestMergeFiles(t *testing.T) {
	dir := t.TempDir()
	var files []string
	var objects []*Object
	for seed := range uint64(50) {
		path, data := filepath.Join(dir, fmt.Sprint(seed)), write(t, randomObject(seed))
		if seed%10 == 9 {
			data = randomBTF(t, seed)
		}
		must.OK(t, os.WriteFile(path, data, 0o666))
		o := must.Get(ReadFile(path, nil))(t)
		files, objects = append(files, path), append(objects, o)
	}
	merged := must.Get(Merge(objects...))(t)
	want := write(t, merged)
	for _, jobs := range []int{0, 1, 2, 5, 100} {
		calls := make(chan int, 2*len(files))
		o := must.Get(MergeFiles(files, nil, jobs, func(done, all int) { calls <- done }))(t)
		if !bytes.Equal(write(t, o), want) {
			t.Errorf("%d threads give a different union", jobs)
		}
		if len(calls) != len(files) {
			t.Errorf("progress was reported %d times, of %d files", len(calls), len(files))
		}
	}
}

// randomBTF returns raw BTF in which no struct contains itself by value.
func randomBTF(t *testing.T, seed uint64) []byte {
	for ; ; seed += 50 {
		data, _ := sections(t, randomObject(seed))
		b := must.Get(btf.Parse(data, nil))(t)
		if _, err := FromBTF(Target{}, b); err == nil {
			return data
		}
	}
}

// TestMergeFilesErrors expects the error of the first file, whichever thread finds it.
func TestMergeFilesErrors(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		must.OK(t, os.WriteFile(path, data, 0o666))
		return path
	}
	arm := randomObject(2)
	arm.Target.Machine = 183
	good, other := put("good", write(t, randomObject(1))), put("other", write(t, arm))
	b := btf.NewBuilder(nil, nil, nil)
	b.Ref(btf.KindPtr, "", 7)
	raw := must.Get(b.Encode(btf.EncodeOptions{}))(t)
	bad := put("bad", raw)
	text := put("text", []byte("no BTF at all"))
	for _, tt := range []struct {
		files []string
		want  string
	}{
		{[]string{good, other, bad, text}, "different targets: " + good},
		{[]string{good, good, bad, other, text}, bad + ": "},
		{[]string{good, text, bad, other}, text + ": "},
		{[]string{filepath.Join(dir, "missing"), good, text}, "missing: no such file"},
	} {
		for range 20 {
			_, err := MergeFiles(tt.files, nil, 3, func(int, int) {})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%q: error %v, want one with %q", tt.files, err, tt.want)
			}
		}
	}
}
