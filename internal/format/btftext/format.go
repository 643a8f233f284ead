package btftext

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

const (
	magic    = `{"kabi_reference":`
	oldMagic = "# BTF as text, version " // how the references of older versions begin
	mark     = "\ufeff"                  // a byte order mark, which some editors write
	version  = 2

	// Index is the name of the INT that the indices of all arrays have as their type.
	Index = "__ARRAY_SIZE_TYPE__"
	// Start is how many bytes Is needs.
	Start = len(mark) + len(oldMagic)

	// maxDepth limits how many types without a name may be nested in each other.
	maxDepth = 256
	// maxText limits the length of a reference.
	maxText = 1 << 27
)

// Is reports whether a file that begins in this way is a reference, which Read may refuse. At least
// Start bytes are needed, if the file has them.
func Is(start []byte) bool {
	start = bytes.TrimPrefix(start, []byte(mark))
	return bytes.HasPrefix(start, []byte(magic)) || bytes.HasPrefix(start, []byte(oldMagic))
}

// document is a reference.
type document struct {
	header
	Types []definition `json:"types"`
}

type header struct {
	Version   int    `json:"kabi_reference"`
	BigEndian bool   `json:"big_endian,omitempty"`
	Count     int    `json:"count"` // of types
	Sum       string `json:"sum"`
}

// definition is a function, a variable, or a type with a name.
// Rule: kABI reference: fields of a line, sums.
type definition struct {
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	Number   uint32 `json:"number,omitempty"` // of the second type with this name: 2
	Sum      string `json:"sum"`
	Declared bool   `json:"declared,omitempty"` // a FWD
	Type     string `json:"type,omitempty"`     // of a VAR or TYPEDEF
	Char     bool   `json:"char,omitempty"`     // these are of an INT
	Bool     bool   `json:"bool,omitempty"`
	Bit      uint8  `json:"bit,omitempty"`
	Bits     uint8  `json:"bits,omitempty"`
	*Body
}

// Body is what a struct, union, enum or function consists of. It is exported for encoding/json.
type Body struct {
	Size    uint32       `json:"size,omitempty"`
	Signed  bool         `json:"signed,omitempty"`
	Result  *use         `json:"result,omitempty"` // nil: void
	Params  []param      `json:"params,omitempty"`
	Members []member     `json:"members,omitempty"`
	Values  []enumerator `json:"values,omitempty"`
}

// use is a type where it is used.
type use struct {
	Type string `json:"type"`
	*Body
}

type param struct {
	Name string `json:"name,omitempty"`
	use
}

type member struct {
	At   uint32 `json:"at"`
	Bit  uint8  `json:"bit,omitempty"`
	Bits uint8  `json:"bits,omitempty"`
	Name string `json:"name,omitempty"`
	use
}

type enumerator struct {
	Name  string      `json:"name"`
	Value json.Number `json:"value"`
}

// words are the kinds of definitions, and the words for types without a name.
var words = [btf.NumKinds]string{btf.KindFunc: "func", btf.KindFuncProto: "func",
	btf.KindVar: "var", btf.KindStruct: "struct", btf.KindUnion: "union", btf.KindEnum: "enum",
	btf.KindEnum64: "enum64", btf.KindTypedef: "typedef", btf.KindInt: "int", btf.KindFloat: "float"}

// key is how other types refer to the definition. For functions and variables, it is "".
func (d *definition) key() string {
	key := d.Name
	switch d.Kind {
	case "func", "var":
		return ""
	case "struct", "union", "enum", "enum64":
		key = d.Kind + " " + d.Name
	}
	if d.Number > 1 {
		key += "#" + strconv.Itoa(int(d.Number))
	}
	return key
}

// title is what errors call the definition.
func (d *definition) title() string {
	return strconv.Quote(d.Kind + " " + d.Name)
}

// operators begin a type that refers to another one. The name of a tag or the length of an array
// is between open and close.
var operators = [...]struct {
	open, close string
	kind        btf.Kind
	attr        bool // the KFlag of a TYPE_TAG
}{
	{"*", "", btf.KindPtr, false},
	{"[", "]", btf.KindArray, false},
	{"const ", "", btf.KindConst, false},
	{"volatile ", "", btf.KindVolatile, false},
	{"restrict ", "", btf.KindRestrict, false},
	{"type_tag(", ") ", btf.KindTypeTag, false},
	{"type_attr(", ") ", btf.KindTypeTag, true},
}

// cut cuts the first operator off a type. The parameter record is without what the operator refers
// to; its kind is KindVoid if there is no operator.
func cut(text string) (record btf.Type, inside, rest string) {
	for _, o := range operators {
		rest, ok := strings.CutPrefix(text, o.open)
		if ok && o.close != "" {
			inside, rest, ok = strings.Cut(rest, o.close)
		}
		if ok {
			return btf.Type{Kind: o.kind, KFlag: o.attr}, inside, rest
		}
	}
	return btf.Type{}, "", text
}

// isWord reports whether a type has this meaning although no definition has this key.
func isWord(text string) bool {
	switch text {
	case "", "...", "void", "struct", "union", "enum", "enum64", "func":
		return true
	}
	return false
}

// marshal returns JSON without line breaks.
func marshal(v any) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("btftext: %v", err)) // no type in this file can cause an error
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// sum is the sum of a header or definition, without that of an older one.
func sum(v any) string {
	hash := sha256.Sum256(marshal(v))
	return hex.EncodeToString(hash[:4])
}

func (h header) withSum() header {
	h.Sum = ""
	h.Sum = sum(h)
	return h
}

func (d definition) withSum() definition {
	d.Sum = ""
	d.Sum = sum(d)
	return d
}
