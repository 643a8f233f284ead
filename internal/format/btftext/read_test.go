package btftext_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btftext"
)

const firstLine = "# BTF as text, version 1, 64-bit, little-endian\n"

func TestErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", `line 1: not BTF as text, which begins with "# BTF as text, version "`},
		{"\x9f\xeb\x01", `line 1: not BTF as text, which begins with "# BTF as text, version "`},
		{"# BTF as text, version 2, 64-bit\n", `line 1: unknown version "2", expected 1; make ` +
			"the file again, or use the tool that made it"},
		{"# BTF as text, version 1, 16-bit\n", `line 1: expected a line like "` +
			strings.TrimSpace(firstLine) + `"`},
		{strings.Replace(firstLine, "\n", "\r\n", 1),
			"line 1: the line ends with a carriage return; convert the file to Unix line ends"},
		{firstLine + "<<<<<<< HEAD\n", "line 2: unexpected character '<'; is there an unresolved " +
			"merge conflict?"},
		{firstLine + "struct s 4 {\n  0 int i;\n};\nend 1;\n",
			"line 3: int is not defined in this file; is the file complete?"},
		{firstLine + "var struct s#2 v;\nstruct s;\nend 2;\n",
			"line 2: struct s#2 is not defined in this file; is the file complete?"},
		{firstLine + "struct s;\nstruct t;\n", `line 4: the last line, such as "end 12;", is missing; ` +
			"is the file complete?"},
		{firstLine + "struct s;\nend 2;\n", "line 3: the file has 1 definition, but according to this " +
			"line, there should be 2; make the file again"},
		{firstLine + "struct s;\nend 1;\nstruct t;\n",
			"line 4: expected the end of the file, found struct"},
		{firstLine + "struct s;\nstruct s 4 {\n};\n", "line 3: struct s is defined twice"},
		{firstLine + "struct s 4 {\n  0 void i\n};\n", "line 4: expected ;, found }"},
		{firstLine + "struct s 4 {\n  void i;\n};\n",
			"line 3: expected a member's offset (BYTE or BYTE.BIT), found void"},
		{firstLine + "struct s 4 {", "line 2: expected a member's offset (BYTE or BYTE.BIT), " +
			"found the end of the file"},
		{firstLine + "struct s 4 {\n 8 union 4 {\n 4 void v;\n};\n};\n",
			"line 4: the member is before the start of its struct or union"},
		{firstLine + "struct s 4 {\n 2097152.0 void v : 1;\n};\n",
			"line 3: the member is too far from the start of its struct or union"},
		{firstLine + "struct s 4294967296 {\n};\n", "line 2: 4294967296 is larger than 4294967295"},
		{firstLine + "enum e 4 {\n A = -1,\n};\n", "line 3: expected a number, found -"},
		{firstLine + "enum e 4 signed {\n A = 2147483648,\n};\n",
			"line 3: 2147483648 is larger than 2147483647"},
		{firstLine + "var void v[3];\n",
			`line 2: expected a line such as "index int;" before the first array`},
		{firstLine + "func void v;\n", "line 2: v is not a function: expected parameters"},
		{firstLine + "func void (void);\n", "line 2: expected a name, found ;"},
		{firstLine + "func void f(void (*p)(void v decl_tag(t)));\n",
			"line 2: expected ), found decl_tag"},
		{firstLine + "var const const;\n", "line 2: expected a type, found ;"},
		{firstLine + "var void v const;\n", "line 2: expected [ or (, found ;"},
		{firstLine + "typedef void t#1;\n", "line 2: expected a number from 2 on after #, found 1"},
		{firstLine + "int 'a\n' 4;\n", "line 2: the line ends before the name's closing quote"},
		{firstLine + "int '\\x00' 4;\n",
			`line 2: \x must be followed by two hexadecimal digits, and not by 00`},
		{firstLine + "int 'a\x00' 4;\n", "line 2: NUL byte"},
		{firstLine + "class c;\n", "line 2: expected a definition: index, func, var, section, " +
			"struct, union, enum, enum64, typedef, int or float, found class"},
		{firstLine + "var void " + strings.Repeat("*", 257) + "v;\n",
			"line 2: more than 256 types without a name are nested in each other"},
		{firstLine + "var void " + strings.Repeat("(*", 1<<17) + "v;\n",
			"line 2: declarations are nested too deeply"},
		{firstLine + "var " + strings.Repeat("struct 1 {\n0 ", 1<<17) + "v;\n",
			"line 65538: declarations are nested too deeply"},
	} {
		_, err := btftext.Read([]byte(c.text))
		if err == nil || err.Error() != c.want {
			t.Errorf("%.60q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

// FuzzRead checks that what can be read can be written, and that this text doesn't change when it
// is read and written again.
func FuzzRead(f *testing.F) {
	f.Add([]byte(compiled))
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 26))
		f.Add(write(f, randomBlob(r, 1+r.IntN(30))))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := btftext.Read(text)
		if err != nil {
			return
		}
		text = write(t, b)
		if b, err = btftext.Read(text); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if again := write(t, b); !bytes.Equal(text, again) {
			t.Fatalf("the text changes:\n%s\n-- written again:\n%s", text, again)
		}
	})
}
