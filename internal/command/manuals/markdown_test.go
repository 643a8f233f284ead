package manuals

import "testing"

func TestMarkdown(t *testing.T) {
	for _, c := range []struct{ help, want string }{
		{"", ""},
		{"One line\nand another.\n\nNext.", "One line and another.\n\nNext."},
		{"a_b *c* <d> [e] `f` #g |h", "a\\_b \\*c\\* \\<d\\> \\[e\\] \\`f\\` \\#g \\|h"},
		{"- is standard input", "\\- is standard input"},
		{"Lists:\n\n  a_b  two\n  c  three\n\nEnd.",
			"Lists:\n\n```\n  a_b  two\n  c  three\n```\n\nEnd."},
		{"Right before\n  code", "Right before\n\n```\n  code\n```"},
		{"  only code", "```\n  only code\n```"},
	} {
		if got := markdown(c.help); got != c.want {
			t.Errorf("%q:\n%q, want\n%q", c.help, got, c.want)
		}
	}
}
