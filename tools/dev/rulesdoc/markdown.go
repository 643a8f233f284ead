package main

import (
	"fmt"
	"slices"
	"strings"
)

// attributeKinds names the values of stardoc_output.proto's AttributeType that the rules use.
var attributeKinds = map[uint64]string{
	1:  "name",
	2:  "int",
	3:  "label",
	4:  "string",
	5:  "list of strings",
	7:  "list of labels",
	8:  "bool",
	9:  "dictionary: label → string",
	12: "output",
}

// markdown returns the reference of rules, aspects and providers, each sorted by name.
func markdown(module moduleInfo) string {
	var out strings.Builder
	for _, list := range [][]entity{module.rules, module.aspects, module.providers} {
		slices.SortFunc(list, func(a, b entity) int { return strings.Compare(a.name, b.name) })
	}
	out.WriteString("\n## Rules\n")
	for _, rule := range module.rules {
		if rule.macro {
			writeMacro(&out, rule)
		} else {
			writeRule(&out, rule)
		}
	}
	out.WriteString("\n## Aspects\n")
	for _, aspect := range module.aspects {
		fmt.Fprintf(&out, "\n### %s\n\n%s\n\nFollows: `%s`.\n", aspect.name,
			strings.TrimSpace(aspect.doc), strings.Join(aspect.edges, "`, `"))
	}
	out.WriteString("\n## Providers\n")
	for _, provider := range module.providers {
		fmt.Fprintf(&out, "\n### %s\n\n%s\n\n| field | meaning |\n|---|---|\n", provider.name,
			strings.TrimSpace(provider.doc))
		for _, field := range provider.parts {
			fmt.Fprintf(&out, "| `%s` | %s |\n", field.name, cell(field.doc))
		}
	}
	return out.String()
}

func writeRule(out *strings.Builder, rule entity) {
	fmt.Fprintf(out, "\n### %s\n\n%s\n\n| attribute | type | default | meaning |\n|---|---|---|---|\n",
		rule.name, strings.TrimSpace(rule.doc))
	slices.SortStableFunc(rule.parts, func(a, b part) int { return rank(a) - rank(b) })
	for _, a := range rule.parts {
		kind, ok := attributeKinds[a.kind]
		if !ok {
			kind = fmt.Sprintf("type %d", a.kind)
		}
		value := "required"
		if !a.mandatory {
			value = "`" + cell(a.defaultValue) + "`"
		}
		doc := cell(a.doc)
		if len(a.providers) > 0 {
			doc += " Provides `" + strings.Join(a.providers, "` or `") + "`."
		}
		fmt.Fprintf(out, "| `%s` | %s | %s | %s |\n", a.name, kind, value, doc)
	}
}

func writeMacro(out *strings.Builder, macro entity) {
	fmt.Fprintf(out, "\n### %s\n\n%s\n\n| attribute | default | meaning |\n|---|---|---|\n",
		macro.name, strings.TrimSpace(macro.doc))
	for _, p := range macro.parts {
		value := "required"
		switch {
		case p.defaultValue != "":
			value = "`" + cell(p.defaultValue) + "`"
		case !p.mandatory: // **kwargs
			value = ""
		}
		fmt.Fprintf(out, "| `%s` | %s | %s |\n", p.name, value, cell(p.doc))
	}
}

// rank puts the attribute "name" first, then the mandatory attributes. Bazel sorted each group.
func rank(a part) int {
	switch {
	case a.name == "name":
		return 0
	case a.mandatory:
		return 1
	}
	return 2
}

// cell returns a doc string as the text of a table cell, on one line.
func cell(doc string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(doc), " "), "|", "\\|")
}
