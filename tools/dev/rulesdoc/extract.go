package main

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// The messages of Bazel's stardoc_output.proto, as far as the reference shows them.
type (
	moduleInfo struct {
		rules     []ruleInfo
		providers []providerInfo
		aspects   []aspectInfo
	}
	ruleInfo struct {
		name, doc  string
		attributes []attribute
		test       bool
	}
	aspectInfo struct {
		name, doc string
		edges     []string
	}
	providerInfo struct {
		name, doc string
		fields    []field
	}
	field     struct{ name, doc string }
	attribute struct {
		name, doc    string
		kind         uint64
		mandatory    bool
		defaultValue string
		providers    []string // by name, one for each alternative group's members
	}
)

// fields calls visit for each field of a protobuf message: its number, and its bytes or its number
// as a value.
func fields(message []byte, visit func(number protowire.Number, data []byte,
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
func parseModule(data []byte) (moduleInfo, error) {
	var module moduleInfo
	err := fields(data, func(number protowire.Number, data []byte, _ uint64) error {
		switch number {
		case 1:
			rule, err := parseRule(data)
			module.rules = append(module.rules, rule)
			return err
		case 2:
			provider, err := parseProvider(data)
			module.providers = append(module.providers, provider)
			return err
		case 4:
			aspect, err := parseAspect(data)
			module.aspects = append(module.aspects, aspect)
			return err
		}
		return nil
	})
	return module, err
}

func parseRule(data []byte) (ruleInfo, error) {
	var rule ruleInfo
	err := fields(data, func(number protowire.Number, data []byte, value uint64) error {
		switch number {
		case 1:
			rule.name = string(data)
		case 2:
			rule.doc = string(data)
		case 3:
			attribute, err := parseAttribute(data)
			rule.attributes = append(rule.attributes, attribute)
			return err
		case 6:
			rule.test = value != 0
		}
		return nil
	})
	return rule, err
}

func parseAttribute(data []byte) (attribute, error) {
	var a attribute
	err := fields(data, func(number protowire.Number, data []byte, value uint64) error {
		switch number {
		case 1:
			a.name = string(data)
		case 2:
			a.doc = string(data)
		case 3:
			a.kind = value
		case 4:
			a.mandatory = value != 0
		case 5: // ProviderNameGroup
			return fields(data, func(number protowire.Number, data []byte, _ uint64) error {
				if number == 1 {
					a.providers = append(a.providers, string(data))
				}
				return nil
			})
		case 6:
			a.defaultValue = string(data)
		}
		return nil
	})
	return a, err
}

func parseProvider(data []byte) (providerInfo, error) {
	var provider providerInfo
	err := fields(data, func(number protowire.Number, data []byte, _ uint64) error {
		switch number {
		case 1:
			provider.name = string(data)
		case 2:
			provider.doc = string(data)
		case 3:
			var f field
			err := fields(data, func(number protowire.Number, data []byte, _ uint64) error {
				switch number {
				case 1:
					f.name = string(data)
				case 2:
					f.doc = string(data)
				}
				return nil
			})
			provider.fields = append(provider.fields, f)
			return err
		}
		return nil
	})
	return provider, err
}

func parseAspect(data []byte) (aspectInfo, error) {
	var aspect aspectInfo
	err := fields(data, func(number protowire.Number, data []byte, _ uint64) error {
		switch number {
		case 1:
			aspect.name = string(data)
		case 2:
			aspect.doc = string(data)
		case 3:
			aspect.edges = append(aspect.edges, string(data))
		}
		return nil
	})
	return aspect, err
}
