package main

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

func text(message []byte, number protowire.Number, value string) []byte {
	message = protowire.AppendTag(message, number, protowire.BytesType)
	return protowire.AppendString(message, value)
}

func TestMarkdown(t *testing.T) {
	attribute := text(nil, 1, "srcs")
	attribute = text(attribute, 2, "Files,\n  or a | b.")
	attribute = protowire.AppendTag(attribute, 3, protowire.VarintType)
	attribute = protowire.AppendVarint(attribute, 7)
	attribute = text(attribute, 6, "[]")
	paths := text(text(nil, 1, "paths"), 2, "Where.")
	paths = protowire.AppendVarint(protowire.AppendTag(paths, 3, protowire.VarintType), 9)
	paths = text(paths, 6, "{}")
	rule := text(nil, 1, "some_rule")
	rule = text(rule, 2, "Does it.")
	rule = text(rule, 3, string(attribute))
	rule = text(rule, 3, string(paths))
	field := text(nil, 1, "file")
	field = text(field, 2, "File: it.")
	provider := text(nil, 1, "SomeInfo")
	provider = text(provider, 3, string(field))
	size := text(text(nil, 1, "size"), 2, "How large.")
	size = text(size, 3, "\"small\"")
	name := protowire.AppendTag(text(nil, 1, "name"), 4, protowire.VarintType)
	name = protowire.AppendVarint(name, 1)
	macro := text(text(nil, 1, "another_rule"), 2, string(name))
	macro = text(macro, 2, string(size))
	macro = text(macro, 2, string(text(nil, 1, "kwargs")))
	macro = text(macro, 3, "Does more.")
	extract := text(text(nil, 1, string(rule)), 2, string(provider))
	module := must.Get(parseModule(text(extract, 3, string(macro))))(t)
	got := markdown(module)
	for _, want := range []string{
		"### some_rule\n\nDoes it.\n",
		"| `srcs` | list of labels | `[]` | Files, or a \\| b. |\n",
		"| `paths` | dictionary: label → string | `{}` | Where. |\n",
		"## Rules\n\n### another_rule\n\nDoes more.\n",
		"| `name` | required |  |\n| `size` | `\"small\"` | How large. |\n| `kwargs` |  |  |\n",
		"### SomeInfo\n",
		"| `file` | File: it. |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestParseDamaged(t *testing.T) {
	for _, data := range []string{"\x0a\x7f", "\xff", "\x0a\x02\x0a\x05"} {
		if _, err := parseModule([]byte(data)); err == nil {
			t.Errorf("parseModule(%q) = nil error", data)
		}
	}
}
