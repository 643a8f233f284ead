package allowance

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	names := []string{"type", "where", "change"}
	for _, c := range []struct{ text, want string }{
		{"type=struct foo  where=member bar.* change=added # it is new",
			"type=struct foo where=member bar.* change=added # it is new"},
		{"where=return type=func * # why # not", "type=func * where=return # why # not"},
		{"type=struct foo", "a reason is missing"},
		{"type=struct foo #  ", "a reason is missing"},
		{"# why", "it has no pattern"},
		{"struct foo # why", `"struct" must be type=, where= or change= followed by a pattern`},
		{"type= # why", `"type=" must be`},
		{"type=a name=b # why", `"name=b" must be`},
		{"type=a type=b # why", "it has type= twice"},
	} {
		values, reason, err := Parse(c.text, names...)
		got := String(names, values, reason)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
}
