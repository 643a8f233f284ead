package types

import (
	"strings"
	"testing"
)

func TestIdentifier(t *testing.T) {
	for name, want := range map[string]bool{
		"": true, "x": true, "_x9": true, "task_struct": true, ".text": true, "a.b": true, strings.Repeat("x", MaxName): true,
		"9x": false, "a b": false, "a-b": false, "Vec<u8>": false, "é": false, "x\x00": false, "@": false, "long enough but not - one": false, "long_enough_but_not -": false, "[": false, "`": false, "{": false,
		"/": false, ":": false, strings.Repeat("x", MaxName+1): false,
	} {
		if got := Identifier([]byte(name)); got != want {
			t.Errorf("Identifier(%.20q) is %v", name, got)
		}
	}
}
