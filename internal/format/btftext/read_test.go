package btftext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// reference adds sums, the count and the first lines to the types of a reference.
func reference(types string) []byte {
	doc, err := decode(fmt.Appendf(nil, `{"kabi_reference":2,"types":[%s]}`, types))
	if err != nil {
		return fmt.Appendf(nil, `{"kabi_reference":2,%s`, types)
	}
	return doc.text()
}

// text returns the document with the right sums and count.
func (doc *document) text() []byte {
	doc.Count = len(doc.Types)
	doc.header = doc.withSum()
	for i, d := range doc.Types {
		doc.Types[i] = d.withSum()
	}
	return marshal(doc)
}

const (
	integer = `{"kind":"int","name":"int","size":4,"bits":32,"signed":true}`
	edited  = ": its content doesn't have this sum: a line was edited, deleted or repeated"
)

func TestErrors(t *testing.T) {
	good := string(reference(integer))
	must.Get(Read([]byte(good)))(t)
	for _, c := range []struct{ text, want string }{
		{"", "not a reference of version 2"},
		{"\x9f\xeb\x01", "not a reference of version 2"},
		{`{"kabi_reference":3,`, "not a reference of version 2"},
		{"\ufeff" + good, "begins with a byte order mark; save it without one"},
		{"# BTF as text, version 1, 64-bit, little-endian\nend 0;\n",
			"a reference of an older version, which can't be read any more"},
		{good[:len(good)-9], "line 1: the file is truncated"},
		{good + "\n1", "line 2: expected the end of the file"},
		{strings.Replace(good, `"sum"`, "\n<<<<<<< HEAD\n\"sum\"", 1),
			"line 2: invalid character '<' looking for beginning of object key string"},
		{strings.Replace(good, `4,`, `"x",`, 1), "line 1: unexpected string"},
		{strings.Replace(good, "size", "sise", 1), `unknown field "sise"`},
		{strings.Replace(good, `"count":1`, `"count":2`, 1), "line 2" + edited},
		{strings.Replace(good, `"size":4`, `"size":8`, 1), `"int int"` + edited},
		{strings.Replace(good, `"types":[`, `"types":[`+string(marshal(definition{Kind: "var",
			Name: "v", Type: "int"}.withSum()))+",", 1),
			"2 types, but according to line 2, there should be 1"},
		{string(reference(integer + "," + integer)), `"int int" is defined twice`},
		{string(reference(`{"kind":"class","name":"c"}`)), `"class c": unknown kind "class"`},
		{string(reference(`{"kind":"var","name":"v","type":"[2]void"}`)),
			`"var v": it refers to "__ARRAY_SIZE_TYPE__", which the reference doesn't have`},
		{string(reference(integer + `,{"kind":"var","name":"v","type":"*struct s"}`)),
			`"var v": it refers to "struct s", which the reference doesn't have`},
		{string(reference(integer + `,{"kind":"var","name":"v","type":"[x]int"}`)),
			`"var v": "[x]int" is not an array`},
		{string(reference(integer + `,{"kind":"struct","name":"s","members":[{"at":1,"bit":8,` +
			`"type":"int"}]}`)), `"struct s": the member "" has an invalid offset`},
		{string(reference(integer + `,{"kind":"struct","name":"s","members":[{"at":2097152,"bits":1,` +
			`"type":"int"}]}`)), `"struct s": the member "" has an invalid offset`},
		{string(reference(integer + `,{"kind":"enum","name":"e","values":[{"name":"A","value":-1}]}`)),
			`"enum e": "A" has an invalid value`},
		{string(reference(integer + `,{"kind":"var","name":"v","type":"` + strings.Repeat("*", 257) +
			`int"}`)), `"var v": more than 256 types without a name are nested in each other`},
		{`{"kabi_reference":2,"types":[{` + strings.Repeat(`"members":[{`, 9999),
			"line 1: invalid character '{' exceeded max depth"},
	} {
		_, err := Read([]byte(c.text))
		if err == nil || err.Error() != c.want+"; "+again {
			t.Errorf("%.60q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

// FuzzRead checks that what can be read can be written, and that this reference doesn't change when
// it is read and written again. The sums and the count are those of the content.
func FuzzRead(f *testing.F) {
	seed := reference(integer + `,` +
		`{"kind":"var","name":"v","type":"type_tag(user) *volatile const [2][3]enum s#2"},` +
		`{"kind":"func","name":"f","result":{"type":"t"},"params":[{"type":"t"},{"type":"..."}]},` +
		`{"kind":"int","name":"__ARRAY_SIZE_TYPE__","size":4,"bits":32},` +
		`{"kind":"enum","name":"s","signed":true,"values":[{"name":"A","value":-1}]},` +
		`{"kind":"enum","name":"s","number":2,"size":4,"values":[{"name":"A","value":1}]},` +
		`{"kind":"typedef","name":"t","type":"*func","result":{"type":"union","members":[{"at":0,` +
		`"bit":1,"bits":1,"name":"m","type":"struct u"}]}},{"kind":"struct","name":"u",` +
		`"declared":true}`)
	must.Get(Read(seed))(f)
	f.Add(seed)
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, err := decode(text)
		if err != nil {
			return
		}
		b, err := Read(doc.text())
		if err != nil {
			return
		}
		var first, second bytes.Buffer
		if Write(&first, b) != nil {
			return
		}
		if !json.Valid(first.Bytes()) {
			t.Fatalf("not JSON: %s", &first)
		}
		if b, err = Read(first.Bytes()); err == nil {
			err = Write(&second, b)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, &first)
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("the reference changes:\n%s\n-- written again:\n%s", &first, &second)
		}
	})
}
