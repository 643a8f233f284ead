package main

import (
	"fmt"
	"sort"
	"strings"
)

// attributeKinds are the names of stardoc_output.proto's AttributeType that the rules use.
var attributeKinds = map[uint64]string{
	1:  "name",
	2:  "int",
	3:  "label",
	4:  "string",
	5:  "list of strings",
	7:  "list of labels",
	8:  "bool",
	12: "output",
}

// markdown is the reference of everything in module: rules, aspects, providers, each by name.
func markdown(module moduleInfo) string {
	var out strings.Builder
	sort.Slice(module.rules,
		func(i, j int) bool { return module.rules[i].name < module.rules[j].name })
	sort.Slice(module.aspects,
		func(i, j int) bool { return module.aspects[i].name < module.aspects[j].name })
	sort.Slice(module.providers,
		func(i, j int) bool { return module.providers[i].name < module.providers[j].name })

	out.WriteString("\n## Rules\n")
	for _, rule := range module.rules {
		writeRule(&out, rule)
	}
	out.WriteString("\n## Aspects\n")
	for _, aspect := range module.aspects {
		fmt.Fprintf(&out, "\n### %s\n\n%s\n", aspect.name, paragraph(aspect.doc))
		fmt.Fprintf(&out, "\nFollows: `%s`.\n", strings.Join(aspect.edges, "`, `"))
	}
	out.WriteString("\n## Providers\n")
	for _, provider := range module.providers {
		fmt.Fprintf(&out, "\n### %s\n\n%s\n\n| field | meaning |\n|---|---|\n", provider.name,
			paragraph(provider.doc))
		for _, field := range provider.fields {
			fmt.Fprintf(&out, "| `%s` | %s |\n", field.name, cell(field.doc))
		}
	}
	return out.String()
}

func writeRule(out *strings.Builder, rule ruleInfo) {
	fmt.Fprintf(out, "\n### %s\n\n%s\n\n| attribute | type | default | meaning |\n|---|---|---|---|\n",
		rule.name, paragraph(rule.doc))
	sort.SliceStable(rule.attributes, func(i, j int) bool {
		return rank(rule.attributes[i]) < rank(rule.attributes[j])
	})
	for _, a := range rule.attributes {
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

// rank puts the name first, then what is mandatory; the rest stays by name, as Bazel has it.
func rank(a attribute) int {
	switch {
	case a.name == "name":
		return 0
	case a.mandatory:
		return 1
	}
	return 2
}

// paragraph is a doc string as it stands, without blanks around it.
func paragraph(doc string) string { return strings.TrimSpace(doc) }

// cell is a doc string on one line of a table.
func cell(doc string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(doc), " "), "|", "\\|")
}
