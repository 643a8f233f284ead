package main

import (
	"testing"

	"github.com/rules-btf/rules_btf/internal/command/cli/clitest"
)

func TestVerbs(t *testing.T) { clitest.Verbs(t, program) }

func TestUsage(t *testing.T) { clitest.Usage(t, program) }

func TestStdin(t *testing.T) { clitest.Stdin(t, program) }
