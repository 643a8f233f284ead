package main

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// These are messages of Bazel's stardoc_output.proto, with the fields that the reference shows.
type (
	// moduleInfo is a ModuleInfo.
	moduleInfo struct{ rules, providers, aspects []entity } // a macro counts as a rule
	// entity is a RuleInfo, StarlarkFunctionInfo, ProviderInfo or AspectInfo.
	entity struct {
		name, doc string
		macro     bool
		parts     []part   // the attributes of a rule, the fields of a provider
		edges     []string // the attributes that an aspect follows
	}
	// part is an AttributeInfo, a FunctionParamInfo (which has no kind) or a ProviderFieldInfo
	// (which has only a name and a doc).
	part struct {
		name, doc    string
		kind         uint64
		mandatory    bool
		defaultValue string
		providers    []string // the names in all alternative groups
	}
)

// eachField calls the function visit for each field of a protobuf message, with the field's number
// and content: bytes, or an integer value.
func eachField(message []byte, visit func(number protowire.Number, data []byte,
	value uint64) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return fmt.Errorf("field tag: %w", protowire.ParseError(n))
		}
		message = message[n:]
		var data []byte
		var value uint64
		switch kind {
		case protowire.BytesType:
			data, n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return fmt.Errorf("field %d: %w", number, protowire.ParseError(n))
		}
		message = message[n:]
		if err := visit(number, data, value); err != nil {
			return err
		}
	}
	return nil
}

// parseModule reads a ModuleInfo.
func parseModule(data []byte) (module moduleInfo, err error) {
	err = eachField(data, func(number protowire.Number, data []byte, _ uint64) error {
		var list *[]entity
		parse := parseEntity
		switch number {
		case 1:
			list = &module.rules
		case 3:
			list, parse = &module.rules, parseMacro
		case 2:
			list = &module.providers
		case 4:
			list, parse = &module.aspects, parseAspect
		default:
			return nil
		}
		e, err := parse(data)
		*list = append(*list, e)
		return err
	})
	return module, err
}

func parseEntity(data []byte) (entity, error) { return parseParts(data, false) }

func parseAspect(data []byte) (entity, error) { return parseParts(data, true) }

// parseParts reads a RuleInfo or ProviderInfo, or an AspectInfo.
func parseParts(data []byte, aspect bool) (e entity, err error) {
	err = eachField(data, func(number protowire.Number, data []byte, _ uint64) error {
		switch {
		case number == 1:
			e.name = string(data)
		case number == 2:
			e.doc = string(data)
		case number == 3 && aspect:
			e.edges = append(e.edges, string(data))
		case number == 3:
			p, err := parsePart(data)
			e.parts = append(e.parts, p)
			return err
		}
		return nil
	})
	return e, err
}

// parseMacro reads a StarlarkFunctionInfo.
func parseMacro(data []byte) (e entity, err error) {
	e.macro = true
	err = eachField(data, func(number protowire.Number, data []byte, _ uint64) error {
		switch number {
		case 1:
			e.name = string(data)
		case 2:
			p, err := parseParameter(data)
			e.parts = append(e.parts, p)
			return err
		case 3:
			e.doc = string(data)
		}
		return nil
	})
	return e, err
}

// parseParameter reads a FunctionParamInfo.
func parseParameter(data []byte) (p part, err error) {
	err = eachField(data, func(number protowire.Number, data []byte, value uint64) error {
		switch number {
		case 1:
			p.name = string(data)
		case 2:
			p.doc = string(data)
		case 3:
			p.defaultValue = string(data)
		case 4:
			p.mandatory = value != 0
		}
		return nil
	})
	return p, err
}

func parsePart(data []byte) (p part, err error) {
	err = eachField(data, func(number protowire.Number, data []byte, value uint64) error {
		switch number {
		case 1:
			p.name = string(data)
		case 2:
			p.doc = string(data)
		case 3:
			p.kind = value
		case 4:
			p.mandatory = value != 0
		case 5: // ProviderNameGroup
			return eachField(data, func(number protowire.Number, data []byte, _ uint64) error {
				if number == 1 {
					p.providers = append(p.providers, string(data))
				}
				return nil
			})
		case 6:
			p.defaultValue = string(data)
		}
		return nil
	})
	return p, err
}
